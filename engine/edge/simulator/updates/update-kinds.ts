// The ways in which simulated devices carry out an update. Most succeed; the others fail as real devices do.

export const UPDATE_KINDS = [
  'ok',
  /** Reports no progress and connects with the new version. */
  'quiet',
  'reject',
  /** Defers the update once. */
  'defer',
  /** Fails its first downloads. */
  'download_fail',
  /** Always downloads other bytes than were announced. */
  'corrupt',
  'stall_downloading',
  'stall_installing',
  /** Loses power during the installation and comes back on the old version. */
  'power_cut',
  /** Never comes back after the installation. */
  'brick',
  /** Comes back on the old version. */
  'rollback_self',
  'wrong_version',
  /** Reports success but still runs the old version. */
  'liar',
  'already_installed',
  'slow',
  /** Restarts once in the middle of the download. */
  'restart_midway',
  /** Comes back on the new version and then restarts again and again. */
  'crash_loop',
] as const
export type UpdateKind = (typeof UPDATE_KINDS)[number]

/** Shares in percent. The remaining devices succeed. */
export type UpdateShares = Readonly<Partial<Record<UpdateKind, number>>>

/** Parses a list such as `brick=5,slow=20`. Returns undefined if the text is malformed or the shares exceed 100
 *  percent. */
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
