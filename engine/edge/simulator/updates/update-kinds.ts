// How simulated devices go about an update: most well, some as badly as real ones do.

export const UPDATE_KINDS = [
  'ok',
  /** Reports nothing and connects on the new version. */
  'quiet',
  'reject',
  /** Puts it off once. */
  'defer',
  /** Its first downloads fail. */
  'download_fail',
  /** Never gets the announced bytes. */
  'corrupt',
  'stall_downloading',
  'stall_installing',
  /** Loses power while it installs, and is back on the old version. */
  'power_cut',
  /** Never comes back. */
  'brick',
  /** Comes back on the old version. */
  'rollback_self',
  'wrong_version',
  /** Says that it succeeded and runs the old version. */
  'liar',
  'already_installed',
  'slow',
  /** Restarts once in the middle of the download. */
  'restart_midway',
  /** Comes back on the new version, again and again. */
  'crash_loop',
] as const
export type UpdateKind = (typeof UPDATE_KINDS)[number]

/** Shares in percent; the others do well. */
export type UpdateShares = Readonly<Partial<Record<UpdateKind, number>>>

/** `brick=5,slow=20`. Undefined if it is none of that, or more than everybody. */
export function parseShares(text: string): UpdateShares | undefined {
  const shares: Partial<Record<UpdateKind, number>> = {}
  let sum = 0
  for (const part of text.split(',')) {
    const [, name, percent] = /^([a-z_]+)=(\d{1,3})$/.exec(part.trim()) ?? []
    const kind = UPDATE_KINDS.find((known) => known === name)
    if (kind === undefined || shares[kind] !== undefined) return undefined
    shares[kind] = Number(percent)
    sum += Number(percent)
  }
  return sum <= 100 ? shares : undefined
}
