// The message on `ota`.
import type { JsonObject } from '../../../schemas/json.ts'

export interface FirmwareMessage {
  readonly deploymentId: string
  readonly attempt: number
  readonly seq: number
  readonly action: 'install' | 'rollback' | 'cancel'
  readonly version: string
  /** Empty if the message does not name it. */
  readonly deviceType: string
  /** The version that the device reports once it runs this firmware. */
  readonly reportsAs: string
  readonly url: string
  readonly sha256: string
  readonly sizeBytes: number
  readonly filename: string
  readonly signature: string | undefined
  readonly signatureAlg: string | undefined
  readonly manifest: string | undefined
  /** A slot that already holds this version may be started instead. */
  readonly localOk: boolean
  readonly force: boolean
  /** No installation may begin after this time. */
  readonly notAfter: number | undefined
  readonly expiresAt: number | undefined
}

const ACTIONS = ['install', 'rollback', 'cancel'] as const
const SHA256 = /^[0-9a-f]{64}$/

/** Returns undefined for any other message. */
export function readFirmwareMessage(body: JsonObject): FirmwareMessage | undefined {
  const text = (name: string): string => (typeof body[name] === 'string' ? body[name] : '')
  const number = (name: string): number => (typeof body[name] === 'number' ? body[name] : 0)
  const action = ACTIONS.find((known) => known === body['action'])
  const message: FirmwareMessage = {
    deploymentId: text('deployment_id'),
    attempt: number('attempt'),
    seq: number('seq'),
    action: action ?? 'install',
    version: text('version'),
    deviceType: text('device_type'),
    reportsAs: text('reports_as') || text('version'),
    url: text('url'),
    sha256: text('sha256').toLowerCase(),
    sizeBytes: number('size_bytes'),
    filename: text('filename'),
    signature: text('signature') || undefined,
    signatureAlg: text('signature_alg') || undefined,
    manifest: text('manifest') || undefined,
    localOk: body['local_ok'] === true,
    force: body['force'] === true,
    notAfter: timeOf(text('not_after')),
    expiresAt: timeOf(text('expires_at')),
  }
  if (action === undefined || message.deploymentId === '') return undefined
  if (action === 'cancel') return message
  const isWhole =
    SHA256.test(message.sha256) && message.version !== '' && message.url !== '' && message.sizeBytes > 0
  return isWhole ? message : undefined
}

function timeOf(text: string): number | undefined {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}
