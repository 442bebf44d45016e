// One request that all who ask for the same share. What its answer draws may ask again at once, and a write may come while
// an older request is under way: neither may wait for an answer that is already given, or be content with an earlier one.

export interface SharedRequest {
  /** Joins the request that is under way, or sends one. */
  readonly ask: () => Promise<void>
  /** Sends one after the request that is under way, whose answer may be older than what was just written. */
  readonly askAnew: () => Promise<void>
  /** The answer to the request that is under way is not shown any more, and who asks next sends a new one. */
  readonly forget: () => void
}

export interface RequestSteps<Data> {
  readonly load: () => Promise<Data>
  readonly starts: () => void
  readonly succeeds: (data: Data) => void
  readonly fails: (error: unknown) => void
}

export function sharedRequest<Data>({ load, starts, succeeds, fails }: RequestSteps<Data>): SharedRequest {
  let underWay: { readonly ended: Promise<void> } | undefined
  const send = () => {
    // Ends the request before it shows the answer: what that draws may ask again before this step returns.
    const ending =
      <Value>(show: (value: Value) => void) =>
      (value: Value) => {
        if (underWay !== mine) return
        underWay = undefined
        show(value)
      }
    const mine = { ended: load().then(ending(succeeds), ending(fails)) }
    return mine
  }
  const ask = () => {
    starts()
    underWay ??= send()
    return underWay.ended
  }
  return {
    ask,
    askAnew: () => underWay?.ended.then(ask) ?? ask(),
    forget: () => {
      underWay = undefined
    },
  }
}
