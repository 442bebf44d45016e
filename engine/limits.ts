// Every limit of the engine (R9), each with its unit in its name. Limits that only the API needs are in `api/limits.ts`.
// What exceeds a limit gets a clear error or is parked with its reason. Relations between limits are asserted in the file
// of their topic, or here if they span topics.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../schemas/body-limits.ts'
import { ALERT_LIMITS } from './limits/alerts.ts'
import { BROKER_LIMITS } from './limits/broker.ts'
import { DEVICE_LIMITS } from './limits/devices.ts'
import { FIRMWARE_LIMITS } from './limits/firmware.ts'
import { FLEET_LIMITS } from './limits/fleet.ts'
import { LOG_LIMITS } from './limits/log.ts'
import { NODE_LIMITS } from './limits/nodes.ts'
import { OTA_LIMITS } from './limits/ota.ts'
import { RETRY_LIMITS } from './limits/retries.ts'
import { SHARD_LIMITS } from './limits/shards.ts'
import { TELEMETRY_LIMITS } from './limits/telemetry.ts'
import { USER_LIMITS } from './limits/users.ts'

export const LIMITS = {
  ...BODY_LIMITS,
  ...BROKER_LIMITS,
  ...LOG_LIMITS,
  ...SHARD_LIMITS,
  ...TELEMETRY_LIMITS,
  ...DEVICE_LIMITS,
  ...ALERT_LIMITS,
  ...USER_LIMITS,
  ...FIRMWARE_LIMITS,
  ...FLEET_LIMITS,
  ...NODE_LIMITS,
  ...OTA_LIMITS,
  ...RETRY_LIMITS,
} as const

assert(LIMITS.packetBytesMax < LIMITS.bundleBytesMax, 'any one message fits a bundle')
assert(LIMITS.sessionPendingBytesMax < LIMITS.ingestPendingBytesMax, 'one session cannot use up the ingress')
assert(LIMITS.partitions % LIMITS.lanes === 0, 'all lanes have equally many partitions')
assert(LIMITS.partitions % LIMITS.repairPartitionsAtOnce === 0, 'a repair comes by every partition')
assert(
  LIMITS.meshMessageBytesMax <= LIMITS.commitBytesMax,
  'a server that takes appends takes messages of nodes',
)
assert(LIMITS.devicesMax * 256 <= LIMITS.meshAnswerBytesMax, 'every device of a broadcast fits an answer')
assert(
  LIMITS.commandWaitsMax < LIMITS.meshQuestionsMax,
  'waiting for commands leaves room for other questions',
)
assert(LIMITS.shadowSideBytesMax * 3 < LIMITS.payloadBytesMax, 'a whole shadow fits a message')
assert(
  LIMITS.commandsInFlightMax * LIMITS.commandDataBytesMax < LIMITS.sessionOutBytesMax,
  'a full window of commands does not make a device look frozen',
)
assert(
  LIMITS.historyBlockBytesMax + LIMITS.bundleBytesMax * 4 < LIMITS.telemetryBodyBytesMax,
  'a block of history is taken even if its last batch is a large one',
)
assert(
  LIMITS.meshStopTimeoutMs + LIMITS.lanesStopTimeoutMs < LIMITS.chdbStopTimeoutMs,
  'a stop that waits for other nodes takes no longer than one that waits for chdb',
)
