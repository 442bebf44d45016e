// Filters that one device is subscribed to, on the part of the topic after `fleet/{device_id}/`. Pure.

export type Qos = 0 | 1 | 2

/** Matches by levels, as MQTT does: `+` is one level, `#` is the rest and includes its parent level. */
export function isMatch(filter: string, topic: string): boolean {
  const wanted = filter.split('/')
  const levels = topic.split('/')
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= levels.length || (level !== '+' && level !== levels[index])) return false
  }
  return wanted.length === levels.length
}

/** True if `#` is only the last level and wildcards are whole levels. */
export function isFilter(filter: string, levelsMax: number): boolean {
  const levels = filter.split('/')
  return (
    levels.length <= levelsMax &&
    levels.every((level, index) =>
      level.includes('#')
        ? level === '#' && index === levels.length - 1
        : level === '+' || !level.includes('+'),
    )
  )
}

export class Filters {
  readonly #granted = new Map<string, Qos>()
  /** Grows with every change, so that whatever was derived from the filters can tell that it is stale. */
  version = 0

  get size(): number {
    return this.#granted.size
  }

  has(filter: string): boolean {
    return this.#granted.has(filter)
  }

  set(filter: string, qos: Qos): void {
    this.#granted.set(filter, qos)
    this.version++
  }

  delete(filter: string): void {
    if (this.#granted.delete(filter)) this.version++
  }

  entries(): Iterable<[string, Qos]> {
    return this.#granted.entries()
  }

  /** The highest QoS granted among the filters that match; -1 when none does. */
  qosFor(suffix: string): Qos | -1 {
    let best: Qos | -1 = -1
    for (const [filter, qos] of this.#granted) if (qos > best && isMatch(filter, suffix)) best = qos
    return best
  }
}
