// The name of a user or an API key, for the id that an answer gives. The names are read when an id is shown that has none
// yet. Who may not list them sees the id, which is all that the service tells them; their own name everybody knows.
import { signal } from '@preact/signals'
import { may } from '../data/access.ts'
import { fleet } from '../data/client.ts'
import { user } from '../data/session.ts'
import { LIMITS } from '../limits.ts'
import { plainText } from './plain-text.ts'

interface NamedPage {
  readonly data: readonly { readonly id: string; readonly name: string; readonly email?: string }[]
  readonly total_pages: number
}

interface NameList {
  readonly operation: 'listUsers' | 'listApiKeys'
  readonly prefix: string
  readonly read: (query: { readonly page: number; readonly per_page: number }) => Promise<NamedPage>
}

const LISTS: readonly NameList[] = [
  { operation: 'listUsers', prefix: 'usr_', read: (query) => fleet.listUsers({ query }) },
  { operation: 'listApiKeys', prefix: 'key_', read: (query) => fleet.listApiKeys({ query }) },
]
const PER_PAGE = 200

const names = signal<ReadonlyMap<string, string>>(new Map())
/** Ids that were looked for: one that no list has, such as that of a deleted user, is looked for once. */
const sought = new Set<string>()
const readings = new Map<NameList, Promise<void>>()

export function personText(id: string): string {
  const me = user.value
  if (id === me?.id) return plainText(me.name)
  const list = LISTS.find(({ prefix }) => id.startsWith(prefix))
  if (list === undefined || !may(list.operation)) return plainText(id)
  const name = names.value.get(id)
  if (name === undefined && !sought.has(id)) {
    sought.add(id)
    seek(list)
  }
  return plainText(name ?? id)
}

/** All ids that are shown at once are found by one reading. */
function seek(list: NameList): void {
  if (readings.has(list)) return
  const reading = readNames(list)
    // The id stays where its name cannot be had.
    .catch(() => undefined)
    .finally(() => readings.delete(list))
  readings.set(list, reading)
}

async function readNames({ read }: NameList): Promise<void> {
  for (let page = 1; page <= LIMITS.namedPeopleMax / PER_PAGE; page++) {
    const { data, total_pages } = await read({ page, per_page: PER_PAGE })
    names.value = new Map([
      ...names.peek(),
      ...data.map(({ id, name, email }) => [id, name === '' ? (email ?? id) : name] as const),
    ])
    if (page >= total_pages) return
  }
}
