/** Texts that repeat, as small numbers. Place 0 is the empty text, which stands for "none". */
export class WordList {
  readonly words: string[] = ['']
  readonly #places = new Map<string, number>([['', 0]])

  placeOf(word: string | null | undefined): number {
    const text = word ?? ''
    const known = this.#places.get(text)
    if (known !== undefined) return known
    const place = this.words.length
    this.#places.set(text, place)
    this.words.push(text)
    return place
  }

  /** Undefined if no row has ever had it. */
  known(word: string): number | undefined {
    return this.#places.get(word)
  }

  at(place: number): string {
    return this.words[place] ?? ''
  }
}
