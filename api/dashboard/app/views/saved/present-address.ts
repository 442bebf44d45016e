import { address } from '../../navigation/navigation.ts'

/** Where the page is, as a saved view keeps it. */
export function presentAddress(): { readonly path: string; readonly query: string } {
  const { path, search } = address.peek()
  return { path, query: search.replace(/^\?/, '') }
}
