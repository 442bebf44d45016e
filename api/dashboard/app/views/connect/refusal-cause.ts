// Why a new device is not connected, from what the broker refused since its registration. Refusals of other devices that have
// nothing to do with it are left aside.

export interface RefusedConnect {
  readonly device_id: string | null
  readonly code: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

export interface RefusalCause {
  /** The words for it; undefined if there are none for this reason. */
  readonly word: keyof typeof WORDS | undefined
  readonly reason: string
  /** The client id that was used in place of the device's. */
  readonly otherId: string | undefined
}

/** Words for the reasons that the service gives. */
const WORDS = {
  expired: 'device token expired',
  invalid: 'device token invalid',
  noToken: 'no device token as password',
  revoked: 'the token was revoked',
  retired: 'the device is decommissioned',
} as const

/** Refusals under another client id that this device may have been given by mistake. */
const OTHER_ID: readonly string[] = [
  'the token is of another device',
  'no such device',
  'the client id must be the device id',
]

/** The newest refusal that tells of the device; `entries` are the newest first. */
export function refusalCause(entries: readonly RefusedConnect[], deviceId: string): RefusalCause | undefined {
  const reasonOf = ({ detail, code }: RefusedConnect) => String(detail['reason'] ?? code ?? '')
  const own = entries.find((entry) => entry.device_id === deviceId)
  const found = own ?? entries.find((entry) => OTHER_ID.includes(reasonOf(entry)))
  if (found === undefined) return undefined
  const reason = reasonOf(found)
  const names = Object.keys(WORDS) as (keyof typeof WORDS)[]
  return {
    word: names.find((name) => WORDS[name] === reason),
    reason,
    otherId: own === undefined ? (found.device_id ?? '') : undefined,
  }
}
