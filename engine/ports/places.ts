// Download places that all API nodes share: how many readers may download at once, and how many streams each may have.
//
// A place is held for a limited time and must be renewed. A dead node therefore does not occupy places for long. A node
// that could not renew a place in time, because it was paused or cut off, must end the stream: another reader may have
// the place. All methods may reject with a `STORE_UNAVAILABLE` fault.

export interface Place {
  /** Identifies the downloader. All streams of one reader count as one download. */
  readonly reader: string
  /** Unique among all streams of all nodes. */
  readonly stream: string
}

export interface DownloadPlaces {
  /** The minimum time for which a place is held after it was taken or last renewed. */
  readonly heldMs: number
  /** `reader`: this reader already has enough streams. `busy`: the maximum number of other readers are downloading. */
  enter(place: Place): Promise<'taken' | 'reader' | 'busy'>
  /** Renews the places and resolves, in their order, with whether each is still held. One that is not is lost for good. */
  keep(places: readonly Place[]): Promise<readonly boolean[]>
  leave(place: Place): Promise<void>
}

export interface PlacesLimits {
  readonly readersMax: number
  readonly streamsPerReaderMax: number
  readonly heldMs: number
}
