// Rebuilds a command that is no longer in its device's record from its steps in the history.
import type { Engine } from '../../engine/index.ts'
import type { CommandBody } from '../../schemas/command.ts'
import { type CommandId, type DeviceId, Millis } from '../../schemas/ids.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { timeOfId } from '../ids.ts'

/** The id carries the time of creation, on the clock of the node that took the request. */
const CLOCKS_APART_MS = 5_000

export async function findPastCommand(
  engine: Pick<Engine, 'commandSteps'>,
  deviceId: DeviceId,
  id: CommandId,
): Promise<CommandBody | undefined> {
  const madeAt = timeOfId(id, 'cmd_')
  if (madeAt === undefined) return undefined
  const createdAt = Millis(Math.max(0, madeAt - CLOCKS_APART_MS))
  const steps = await engine.commandSteps([{ deviceId, commandId: id, createdAt }])
  if (steps.at(-1)?.body['status'] !== 'pending') return undefined
  return pastCommandBody(deviceId, steps.map(({ body }) => body).reverse())
}

/** `steps` is sorted by time, starting with the creation. The engine wrote one row per step, with the request in the first
 *  and the result in the last. */
export function pastCommandBody(deviceId: DeviceId, steps: readonly JsonObject[]): CommandBody {
  const [first = {}] = steps
  return toBody(deviceId, first, steps)
}

const ENDED = ['completed', 'failed', 'rejected']

function toBody(deviceId: DeviceId, first: JsonObject, steps: readonly JsonObject[]): CommandBody {
  const last: JsonObject = Object.assign({}, ...steps)
  const timeOf = (...statuses: readonly string[]): Json =>
    steps.find(({ status }) => statuses.includes(String(status)))?.['timestamp'] ?? null
  const { timestamp: createdAt, expires_at: expiresAt, data } = first
  const timeoutMs = Date.parse(String(expiresAt)) - Date.parse(String(createdAt))
  const body = {
    command_id: first['command_id'],
    device_id: deviceId,
    command: first['command'],
    data,
    status: steps.at(-1)?.['status'],
    held_reason: null,
    priority: first['priority'],
    timeout_sec: Math.max(1, Math.round(timeoutMs / 1000)),
    created_at: createdAt,
    created_by: first['created_by'],
    expires_at: expiresAt,
    delivered_at: timeOf('delivered', 'acked', ...ENDED),
    acked_at: timeOf('acked', ...ENDED),
    completed_at: timeOf(...ENDED),
    executed_at: last['executed_at'] ?? null,
    cancelled_at: timeOf('cancelled'),
    cancelled_by: last['cancelled_by'] ?? null,
    progress: last['progress'] ?? null,
    result: last['result'] ?? null,
    result_bytes_omitted: last['result_bytes_omitted'] ?? null,
    error: last['error'] ?? null,
    attempts: last['attempts'],
    late: last['late'],
    conflicts: conflictsOf(steps),
    broadcast_id: last['broadcast_id'] ?? null,
  }
  // The engine wrote the fields of a command into the rows. Tests compare the two.
  return body as unknown as CommandBody
}

/** Each step names the newest conflict, which later steps may repeat. */
function conflictsOf(steps: readonly JsonObject[]): readonly Json[] {
  const found = new Map<string, Json>()
  for (const { conflict } of steps) if (conflict !== undefined) found.set(JSON.stringify(conflict), conflict)
  return [...found.values()]
}
