// Codecs of single values in the query. What cannot be read is the default, so a hostile or outdated address shows
// the view as if it were not there.
export interface Codec<Value> {
  /** `undefined` is a value that the address does not name. */
  read(text: string | undefined): Value
  /** `undefined` leaves the value out: it is the default. */
  write(value: Value): string | undefined
}

export const text = (byDefault = '', charsMax = 2000): Codec<string> => ({
  read: (found) => (found === undefined || found.length > charsMax ? byDefault : found),
  write: (value) => (value === byDefault ? undefined : value),
})

export const oneOf = <Word extends string>(words: readonly Word[], byDefault: Word): Codec<Word> => ({
  read: (found) => words.find((word) => word === found) ?? byDefault,
  write: (value) => (value === byDefault ? undefined : value),
})

/** Words without commas. */
export const words = (byDefault: readonly string[] = [], max = 100): Codec<readonly string[]> => ({
  read: (found) => (found === undefined ? byDefault : found.split(',').filter(Boolean).slice(0, max)),
  write: (value) => (value.join(',') === byDefault.join(',') ? undefined : value.join(',')),
})

export const whole = (byDefault: number, min: number, max: number): Codec<number> => ({
  read: (found) => {
    const value = found === undefined || !/^-?\d{1,15}$/.test(found) ? byDefault : Number(found)
    return value < min || value > max ? byDefault : value
  },
  write: (value) => (value === byDefault ? undefined : String(value)),
})

export const flag: Codec<boolean> = {
  read: (found) => found === '1',
  write: (value) => (value ? '1' : undefined),
}
