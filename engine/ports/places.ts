// Places for downloads that all API nodes share: how many may load at a time, and how many streams each of them has.
//
// A place is held for a while and has to be kept. So a node that died takes up no place for long; and a node that could not
// keep a place in time, because it stood still or was cut off, must end the stream, since somebody else may have the place.
// All methods may reject with a `STORE_UNAVAILABLE` fault.

export interface Place {
  /** Names who loads. All streams of one reader are one download. */
  readonly reader: string
  /** Differs from that of every other stream of any node. */
  readonly stream: string
}

export interface DownloadPlaces {
  /** Time for which a place is held since it was asked for or last kept, at least. */
  readonly heldMs: number
  /** `reader`: this one has enough streams. `busy`: as many as may be are loading, and this one is none of them. */
  enter(place: Place): Promise<'taken' | 'reader' | 'busy'>
  /** Resolves, for each in its order, with whether it is still held; one that is not has been lost for good. */
  keep(places: readonly Place[]): Promise<readonly boolean[]>
  leave(place: Place): Promise<void>
}

export interface PlacesLimits {
  readonly readersMax: number
  readonly streamsPerReaderMax: number
  readonly heldMs: number
}
