// The palette: one field over views and devices. Everything it offers is a link, so it opens in a new tab as well.
import { signal } from '@preact/signals'
import { useEffect, useId, useState } from 'preact/hooks'
import { readCommandLine } from '../address/command-line.ts'
import { pathOf } from '../address/routes.ts'
import { may } from '../data/access.ts'
import { useAnswer } from '../data/answers.ts'
import { ALL_VIEWS, type SavedView } from '../data/saved-views.ts'
import { findDevices } from '../fleet/find-devices.ts'
import { LIMITS } from '../limits.ts'
import { columns, fleetVersion } from '../live/fleet-index.ts'
import { navigate } from '../navigation/navigation.ts'
import { useModal } from '../parts/modal.ts'
import { plainText } from '../parts/plain-text.ts'
import { StatusMark } from '../parts/status-mark.tsx'
import { words } from '../words/words.ts'
import { areas } from './areas.ts'

const t = words({
  label: ['Go to a view or a device', 'Zu einer Ansicht oder einem Gerät'],
  placeholder: [
    'Device, view, filter such as status:error, or robot-7 blink times=3',
    'Gerät, Ansicht, Filter wie status:error, oder robot-7 blink times=3',
  ],
  results: ['Results', 'Ergebnisse'],
  none: ['Nothing is called so.', 'Nichts heißt so.'],
  view: ['View', 'Ansicht'],
  saved: ['Saved view', 'Gespeicherte Ansicht'],
  filter: ['Show devices that fit "{text}"', 'Geräte zeigen, auf die „{text}“ passt'],
  send: ['Send {command} to {name}…', '{command} an {name} senden …'],
  noParameters: ['without parameters', 'ohne Parameter'],
  connect: ['Connect a device', 'Gerät verbinden'],
  compose: ['Send a command', 'Befehl senden'],
  me: ['Profile and settings', 'Profil und Einstellungen'],
})

export const isPaletteOpen = signal(false)

interface Entry {
  readonly key: string
  readonly href: string
  readonly name: string
  readonly note: string
  readonly row?: number
}

export function Palette() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const id = useId()
  const close = () => {
    isPaletteOpen.value = false
  }
  const modal = useModal(close)
  const saved = useAnswer('listViews', ALL_VIEWS)
  const entries = entriesOf(text, saved.data?.data ?? [])
  const at = Math.min(chosen, Math.max(0, entries.length - 1))
  useEffect(() => {
    document.querySelector(`#${CSS.escape(`${id}-${at}`)}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const go = (entry: Entry | undefined) => {
    if (entry === undefined) return
    close()
    navigate(entry.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(entries.length - 1, at + 1))
    else if (event.key === 'ArrowUp') setChosen(Math.max(0, at - 1))
    else if (event.key === 'Enter') go(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <dialog {...modal} class="dialog palette" aria-label={t('label')}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label={t('label')}
        aria-expanded={entries.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        placeholder={t('placeholder')}
        value={text}
        spellcheck={false}
        autocomplete="off"
        maxLength={200}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" id={`${id}-list`} role="listbox" aria-label={t('results')}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys.
          <div
            key={entry.key}
            id={`${id}-${i}`}
            class="palette-entry"
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onClick={() => go(entry)}
          >
            <span class="palette-name">{entry.name}</span>
            {entry.row !== undefined && <StatusMark status={columns.statusAt(entry.row)} />}
            <span class="muted">{entry.note}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p class="empty">{t('none')}</p>}
    </dialog>
  )
}

function entriesOf(text: string, saved: readonly SavedView[]): readonly Entry[] {
  const wanted = text.trim().toLowerCase()
  const views = [
    ...areas().map(({ route, name, key }) => ({ key: route, href: pathOf(route), name, note: `g ${key}` })),
    ...(may('registerDevice') ? [link('connect', pathOf('connect'), t('connect'))] : []),
    ...(may('sendCommand') ? [link('compose', pathOf('compose'), t('compose'))] : []),
    link('me', pathOf('me'), t('me')),
    ...saved.map(({ view_id, name }) => ({
      key: view_id,
      href: pathOf('savedView', { view_id }),
      name: plainText(name),
      note: t('saved'),
    })),
  ].filter(({ name }) => name.toLowerCase().includes(wanted))
  // A change of the index may bring a device that is looked for.
  const room = fleetVersion.value === 0 ? 0 : LIMITS.paletteRowsMax - views.length - 1
  const devices = findDevices(text, columns, room).map((row) => ({
    key: `device ${columns.ids[row]}`,
    href: pathOf('device', { device_id: columns.ids[row] ?? '' }),
    name: plainText(columns.names[row] ?? ''),
    note: columns.ids[row] ?? '',
    row,
  }))
  const filter =
    wanted === ''
      ? []
      : [
          link(
            'filter',
            pathOf('devices', {}, { q: text.trim() }),
            t('filter', { text: plainText(text.trim()) }),
          ),
        ]
  const command = commandEntry(text)
  if (command !== undefined) return [command, ...filter]
  // A filter is meant by its colon; otherwise it is the last way.
  return wanted.includes(':') ? [...filter, ...devices, ...views] : [...devices, ...views, ...filter]
}

/** Leads to the form of the command, filled in: the service judges it, and the person sends it. */
function commandEntry(text: string): Entry | undefined {
  const line = may('sendCommand') ? readCommandLine(text) : undefined
  const row = line && columns.rowOf(line.device)
  if (line === undefined || row === undefined) return undefined
  const { device: device_id, command, data } = line
  const pairs = Object.entries(data).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return {
    key: 'command',
    href: pathOf(
      'deviceTab',
      { device_id, tab: 'commands' },
      { command, data: pairs.length === 0 ? undefined : JSON.stringify(data) },
    ),
    name: t('send', { command: plainText(command), name: plainText(columns.names[row] ?? '') }),
    note: pairs.length === 0 ? t('noParameters') : plainText(pairs.join(' ')),
    row,
  }
}

const link = (key: string, href: string, name: string): Entry => ({ key, href, name, note: t('view') })
