interface ActiveSilence {
  readonly matchers: Readonly<Record<string, unknown>>
  readonly windows: readonly unknown[]
  readonly ends_at: string
}

/** The silence that mutes a device for the longest, given those that name it. One that mutes some of its alerts, or for some hours,
 *  is none. */
export function muteOf<Silence extends ActiveSilence>(silences: readonly Silence[]): Silence | undefined {
  return silences
    .filter(({ matchers, windows }) => Object.keys(matchers).length === 1 && windows.length === 0)
    .toSorted((a, b) => Date.parse(b.ends_at) - Date.parse(a.ends_at))[0]
}
