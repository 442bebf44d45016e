// What the palette offers for a text: what was used last, what can be done here, commands to a device, devices and views.
import { signal } from '@preact/signals'
import { readCommandLine } from '../address/command-line.ts'
import { pathOf } from '../address/routes.ts'
import { may } from '../data/access.ts'
import type { SavedView } from '../data/saved-views.ts'
import { user } from '../data/session.ts'
import { findDevices } from '../fleet/find-devices.ts'
import { LIMITS } from '../limits.ts'
import { columns, fleetVersion } from '../live/fleet-index.ts'
import type { DeviceType } from '../parts/command-draft.ts'
import { plainText } from '../parts/plain-text.ts'
import { shortcuts } from '../parts/shortcuts.ts'
import { areas } from './areas.ts'
import { t } from './palette-words.ts'

export interface Entry {
  readonly key: string
  readonly name: string
  readonly note: string
  readonly row?: number
  readonly does:
    | { readonly kind: 'go'; readonly href: string }
    | { readonly kind: 'run'; readonly run: () => void }
    /** Goes on in the field with this text. */
    | { readonly kind: 'type'; readonly text: string }
}

const RECENT_MAX = 8
/** It belongs to who is logged in: another person in this tab has a memory of their own. */
const recent = signal<{ readonly owner: string | undefined; readonly entries: readonly Entry[] }>({
  owner: undefined,
  entries: [],
})

const usedLast = () => (recent.value.owner === user.value?.id ? recent.value.entries : [])

/** Where somebody went is what they look for first the next time. Nothing of it leaves the tab. */
export function noteUsed(entry: Entry): void {
  if (entry.does.kind !== 'go' || entry.key === 'filter' || entry.key === 'command') return
  const others = usedLast().filter(({ key }) => key !== entry.key)
  recent.value = { owner: user.peek()?.id, entries: [entry, ...others].slice(0, RECENT_MAX) }
}

export interface PaletteSources {
  readonly saved: readonly SavedView[]
  readonly types: readonly DeviceType[]
}

export function entriesOf(text: string, { saved, types }: PaletteSources): readonly Entry[] {
  const wanted = text.trim().toLowerCase()
  const fits = ({ name }: Entry) => name.toLowerCase().includes(wanted)
  const last = usedLast().filter(fits)
  const actions = hereEntries().filter(fits)
  const views = viewEntries(saved).filter(fits)
  // A change of the index may bring a device that is looked for.
  const room = fleetVersion.value === 0 ? 0 : LIMITS.paletteRowsMax - views.length - actions.length - 1
  const devices = findDevices(text, columns, room).map(deviceEntry)
  const filter = wanted === '' ? [] : [filterEntry(text.trim())]
  const commands = commandEntries(text, types)
  if (commands.length > 0) return [...commands, ...filter]
  // A filter is meant by its colon; otherwise it is the last way.
  const found = wanted.includes(':')
    ? [...filter, ...last, ...devices, ...actions, ...views]
    : [...last, ...devices, ...actions, ...views, ...filter]
  return [...new Map(found.map((entry) => [entry.key, entry])).values()].slice(0, LIMITS.paletteRowsMax)
}

function viewEntries(saved: readonly SavedView[]): readonly Entry[] {
  return [
    ...areas().map(({ route, name, key }) => link(route, pathOf(route), { name, note: `g ${key}` })),
    ...(may('registerDevice') ? [link('connect', pathOf('connect'), { name: t('connect') })] : []),
    ...(may('sendCommand') ? [link('compose', pathOf('compose'), { name: t('compose') })] : []),
    link('me', pathOf('me'), { name: t('me') }),
    ...saved.map(({ view_id, name }) =>
      link(view_id, pathOf('savedView', { view_id }), { name: plainText(name), note: t('savedView') }),
    ),
  ]
}

/** Ways to other views have entries of their own, and rows are walked along with keys only. */
const NO_ACTION = /^(g .|Ctrl\+.*|Escape|[jk]|[[\]])$/

/** What can be done on the page as it is, the changes of what is selected among it. */
function hereEntries(): readonly Entry[] {
  return shortcuts.value
    .filter(({ keys }) => !NO_ACTION.test(keys))
    .map(({ keys, label, run }) => ({
      key: `action ${keys} ${label}`,
      name: label,
      note: keys === '' ? t('selectedDevices') : keys,
      does: { kind: 'run', run },
    }))
}

function deviceEntry(row: number): Entry {
  const id = columns.ids[row] ?? ''
  return {
    ...link(`device ${id}`, pathOf('device', { device_id: id }), {
      name: plainText(columns.names[row] ?? ''),
      note: id,
    }),
    row,
  }
}

const filterEntry = (text: string) =>
  link('filter', pathOf('devices', {}, { q: text }), { name: t('filter', { text: plainText(text) }) })

/** Each leads to the form of the command, filled in: the service judges it, and the person sends it. */
function commandEntries(text: string, types: readonly DeviceType[]): readonly Entry[] {
  if (!may('sendCommand')) return []
  const [device = '', begun = '', ...more] = text.trimStart().split(' ')
  const row = columns.rowOf(device)
  // The blank after the id is what asks for a command.
  if (row === undefined || !text.trimStart().includes(' ')) return []
  const typeName = columns.types.at(columns.type[row] ?? 0)
  const offered = types.find(({ name }) => name === typeName)?.commands ?? []
  const name = plainText(columns.names[row] ?? '')
  const ofType = offered
    .filter((command) => more.length === 0 && command.name !== begun && command.name.startsWith(begun))
    .map((command) => ({
      key: `offered ${command.name}`,
      name: t('send', { command: plainText(command.name), name }),
      note: plainText(command.description ?? ''),
      row,
      does: { kind: 'type' as const, text: `${device} ${command.name} ` },
    }))
  const line = readCommandLine(text)
  if (line === undefined) return ofType
  const { command, data } = line
  const pairs = Object.entries(data).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  const query = { command, data: pairs.length === 0 ? undefined : JSON.stringify(data) }
  const typed = {
    ...link('command', pathOf('deviceTab', { device_id: device, tab: 'commands' }, query), {
      name: t('send', { command: plainText(command), name }),
      note: pairs.length === 0 ? t('noParameters') : plainText(pairs.join(' ')),
    }),
    row,
  }
  return [typed, ...ofType]
}

const link = (
  key: string,
  href: string,
  { name, note = t('view') }: { readonly name: string; readonly note?: string },
): Entry => ({ key, name, note, does: { kind: 'go', href } })
