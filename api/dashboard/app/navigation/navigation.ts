// Where the page is, as a signal, and the ways to another place. Links are ordinary `<a href>`: one listener turns their
// clicks into moves without a load, so that "open in a new tab" and "copy link" work as everywhere.
import { computed, signal, untracked } from '@preact/signals'
import type { Codec } from '../address/codecs.ts'
import { fromSearch, type QueryText, toSearch } from '../address/query-text.ts'
import { placeOf } from '../address/routes.ts'

export interface Address {
  readonly path: string
  readonly search: string
}

const here = (): Address => ({ path: location.pathname, search: location.search })

export const address = signal<Address>(here())
export const place = computed(() => placeOf(address.value.path))
const query = computed(() => fromSearch(address.value.search))

export interface Move {
  /** Stays on the same entry of the history: what a person would not want to come back to. */
  readonly replace?: boolean
}

export function navigate(to: string, { replace = false }: Move = {}): void {
  const { origin } = location
  const target = new URL(to, origin)
  if (target.origin !== origin) return
  if (replace) history.replaceState(history.state, '', target)
  else history.pushState({ steps: stepsHere() + 1 } satisfies Entry, '', target)
  address.value = { path: target.pathname, search: target.search }
}

/** What an entry of the history knows: how many entries of this page are before it. */
interface Entry {
  readonly steps: number
}

/** Other entries than those of `navigate` have no state, or that of another program. */
const stepsHere = () => Number((history.state as Partial<Entry> | null)?.steps ?? 0)

/** Goes to the entry before, if that is one of this page. */
export function goBack(): boolean {
  if (stepsHere() === 0) return false
  history.back()
  return true
}

/** This address with other values of the query. The rest stays, but for the page of a list: what is chosen begins with its first. */
export const addressWith = (changes: QueryText): string =>
  `${address.value.path}${toSearch({ ...query.value, page: undefined, ...changes })}`

export function setQuery(changes: QueryText, move: Move = { replace: true }): void {
  navigate(
    untracked(() => addressWith(changes)),
    move,
  )
}

/** What the address has under this name, as it is written there. */
export const queryText = (name: string): string | undefined => query.value[name]

/** A value that lives in the address. Reading it in a component renders the component when it changes. */
export interface QueryValue<Value> {
  get value(): Value
  set(value: Value, move?: Move): void
}

export function queryValue<Value>(name: string, codec: Codec<Value>): QueryValue<Value> {
  return {
    get value() {
      return codec.read(query.value[name])
    },
    set: (value, move) => setQuery({ [name]: codec.write(value) }, move),
  }
}

/** Begins to follow the address bar and the links of the page. */
export function followAddress(): void {
  addEventListener('popstate', () => {
    address.value = here()
  })
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null
    if (!(link instanceof HTMLAnchorElement) || !isOurs(event, link)) return
    event.preventDefault()
    navigate(link.href)
    // A followed link shows its page from the top, as everywhere on the web.
    scrollTo(0, 0)
    // On a narrow screen the content scrolls by itself, above the entries at its foot.
    document.querySelector('#content')?.scrollTo(0, 0)
  })
}

function isOurs(event: MouseEvent, link: HTMLAnchorElement): boolean {
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
  return (
    isPlain &&
    !event.defaultPrevented &&
    link.origin === location.origin &&
    (link.target === '' || link.target === '_self') &&
    !link.hasAttribute('download') &&
    placeOf(link.pathname) !== undefined
  )
}
