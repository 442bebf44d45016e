// What is wrong with a device's message, as far as the message alone shows it. Used only for devices that can be told in
// the acknowledgement. The shard judges the message again, and its verdict counts.
import { type DeviceId, Micros, type Millis } from '../../../schemas/ids.ts'
import { parseSubSuffix, parseSuffix } from '../../../schemas/topics.ts'
import { readAck } from '../../domain/command/ack-message.ts'
import { strayTopic } from '../../domain/dead-letter/stray-topic.ts'
import { readStatus } from '../../domain/device/status-message.ts'
import { readTokenRequest } from '../../domain/device/token-request.ts'
import { readLogLines } from '../../domain/history/log-lines.ts'
import { readOtaStatus } from '../../domain/ota/ota-report.ts'
import { readReported } from '../../domain/shadow/reported-message.ts'
import { parsePayload } from '../../domain/telemetry/payload.ts'
import { unreachable } from '../../domain/unreachable.ts'
import type { MessageFault } from '../../ports/broker.ts'

export function judgeMessage(suffix: string, payload: Uint8Array, now: Millis): MessageFault | undefined {
  const own = parseSubSuffix(suffix)?.suffix ?? suffix
  const stray = strayTopic(own)
  if (stray !== undefined) return { kind: 'topic', text: stray.detail }
  const fault = payloadFault(own, payload, now)
  return fault === undefined ? undefined : { kind: 'payload', text: fault }
}

function payloadFault(suffix: string, payload: Uint8Array, now: Millis): string | undefined {
  const receivedAt = Micros(now * 1000)
  const uplink = parseSuffix(suffix)
  switch (uplink.kind) {
    case 'telemetry': {
      const about = { deviceId: NOBODY, name: uplink.name, receivedAt, version: 0 }
      const parsed = parsePayload(payload, about)
      return parsed.kind === 'refused' ? `${parsed.reason}: ${parsed.detail}` : undefined
    }
    case 'status': {
      const said = readStatus(payload)
      return said.kind === 'refused' ? said.detail : undefined
    }
    case 'log': {
      const log = readLogLines(payload, receivedAt)
      return log.kind === 'refused' ? `${log.reason}: ${log.detail}` : undefined
    }
    case 'reported': {
      const report = readReported(payload)
      return report.kind === 'refused' ? String(report.detail['message']) : undefined
    }
    case 'ack': {
      const ack = readAck(payload)
      return ack.kind === 'refused' ? ack.detail : undefined
    }
    case 'ota_status': {
      const message = readOtaStatus(payload, now)
      return message.kind === 'malformed' ? message.detail : undefined
    }
    case 'token_get': {
      const request = readTokenRequest(payload)
      return request.kind === 'refused' ? request.detail : undefined
    }
    case 'shadow_get':
    case 'sub':
    case 'cloud_only':
    case 'other':
      return undefined
    default:
      return unreachable(uplink)
  }
}

/** A placeholder: parsing does not depend on the device. */
const NOBODY = '' as DeviceId
