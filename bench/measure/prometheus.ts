// Reads Prometheus text as far as the bench needs it.

/** Returns the values of a metric by one of its labels. */
export function byLabel(text: string, name: string, label: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { labels, value } of samples(text, name)) {
    const key = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1]
    if (key !== undefined) sums.set(key, (sums.get(key) ?? 0) + value)
  }
  return sums
}

function samples(text: string, name: string): readonly { readonly labels: string; readonly value: number }[] {
  const found: { labels: string; value: number }[] = []
  for (const line of text.split('\n')) {
    if (!line.startsWith(name)) continue
    const match = /^\w+(?:\{(.*)\})? (\S+)/.exec(line)
    const next = line[name.length]
    if (match === null || (next !== '{' && next !== ' ')) continue
    found.push({ labels: match[1] ?? '', value: Number(match[2]) })
  }
  return found
}
