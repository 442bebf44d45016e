// Subscription filters of one device, on the part of the topic after `fleet/{device_id}/`. Pure.

export type Qos = 0 | 1 | 2

/** Matches level by level, as MQTT does: `+` is one level, `#` is the rest and includes its parent level. */
export function isMatch(filter: string, topic: string): boolean {
  // The strings are not split, because every message of a gateway is compared with the gateway's filters.
  for (let at = 0, from = 0; ; ) {
    const end = endOfLevel(filter, at)
    const wildcard = end === at + 1 ? filter[at] : undefined
    if (wildcard === '#') return true
    if (from > topic.length) return false
    const to = endOfLevel(topic, from)
    const isSame = end - at === to - from && topic.startsWith(filter.slice(at, end), from)
    if (wildcard !== '+' && !isSame) return false
    if (end === filter.length) return to === topic.length
    at = end + 1
    // The topic has no further level: this is beyond its end.
    from = to + 1
  }
}

function endOfLevel(text: string, from: number): number {
  const slash = text.indexOf('/', from)
  return slash < 0 ? text.length : slash
}

/** True if `#` is only the last level and each wildcard is a whole level. */
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

export interface SubscribeOptions {
  /** The device is not sent what it has published itself. */
  readonly noLocal: boolean
  /** Messages keep the retain flag that they were published with. */
  readonly asPublished: boolean
}

interface GrantedOptions extends SubscribeOptions {
  readonly qos: Qos
}

const OPTIONS_DEFAULT: SubscribeOptions = { noLocal: false, asPublished: false }

export class Filters {
  readonly #granted = new Map<string, GrantedOptions>()
  /** Grows with every change, so that anything derived from the filters can detect that it is stale. */
  version = 0

  get size(): number {
    return this.#granted.size
  }

  has(filter: string): boolean {
    return this.#granted.has(filter)
  }

  set(filter: string, qos: Qos, { noLocal, asPublished }: SubscribeOptions = OPTIONS_DEFAULT): void {
    this.#granted.set(filter, { qos, noLocal, asPublished })
    this.version++
  }

  /** Returns false if there was no such subscription. */
  delete(filter: string): boolean {
    const existed = this.#granted.delete(filter)
    if (existed) this.version++
    return existed
  }

  entries(): readonly (readonly [string, Qos])[] {
    return [...this.#granted].map(([filter, { qos }]) => [filter, qos])
  }

  /** The highest QoS granted among the filters that match; -1 when none does. */
  qosFor(suffix: string): Qos | -1 {
    let best: Qos | -1 = -1
    for (const [filter, { qos }] of this.#granted) if (qos > best && isMatch(filter, suffix)) best = qos
    return best
  }

  /** The same as `qosFor`, for messages that the device itself has published. */
  echoQosFor(suffix: string): Qos | -1 {
    let best: Qos | -1 = -1
    for (const [filter, { qos, noLocal }] of this.#granted)
      if (!noLocal && qos > best && isMatch(filter, suffix)) best = qos
    return best
  }

  /** True if a matching subscription keeps the retain flag of published messages. */
  isAsPublished(suffix: string): boolean {
    for (const [filter, { asPublished }] of this.#granted)
      if (asPublished && isMatch(filter, suffix)) return true
    return false
  }
}
