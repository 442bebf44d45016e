// What a timeline entry says in words, for the list and for the marks on charts. The bodies are the service's own rows; a
// field that is missing is left out.

import type { EVENT_KINDS } from '../../../../schemas/history.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { Actor } from '../shadow-merge/authors.ts'
import { editsOf } from '../shadow-merge/merge.ts'
import { words } from '../words/words.ts'
import { actorText } from './actor-text.ts'
import { shownValue } from './flat-values.ts'
import { plainText } from './plain-text.ts'
import { stateWord } from './state-words.ts'

export interface TimelineEntry {
  readonly timestamp: string
  readonly kind: (typeof EVENT_KINDS)[number]
  readonly data: Readonly<Record<string, unknown>>
}

const t = words({
  registered: ['registered as {to}', 'registriert als {to}'],
  status: ['{from} → {to} ({cause})', '{from} → {to} ({cause})'],
  command: ['{command}: {status}', '{command}: {status}'],
  shadow: [
    '{section} changed to version {version} by {by}',
    '{section} geändert auf Version {version} von {by}',
  ],
  removed: ['removed', 'entfernt'],
  ota: ['Firmware {version}: {status}', 'Firmware {version}: {status}'],
  alert: ['{rule}: {event}', '{rule}: {event}'],
})

export function entryText({ kind, data }: TimelineEntry): string {
  const of = (name: string) => plainText(textOf(data[name]))
  const state = (name: string) => stateWord(of(name))
  switch (kind) {
    case 'status':
      return data['from'] == null
        ? t('registered', { to: state('to') })
        : t('status', { from: state('from'), to: state('to'), cause: state('cause') })
    case 'command':
      return t('command', { command: of('command'), status: state('status') })
    case 'shadow': {
      const { type = 'system', id } = Object(data['actor']) as {
        readonly type?: Actor['type']
        readonly id?: unknown
      }
      const by = actorText({ type, id: textOf(id) })
      return t('shadow', { section: state('section'), version: of('version'), by })
    }
    case 'ota':
      return t('ota', { version: of('to_version') || of('version'), status: state('status') })
    case 'alert':
      return t('alert', {
        rule: of('rule_name') || of('rule_id'),
        event: stateWord((of('event') || of('state')).replace('alert.', '')),
      })
  }
}

/** A line has room for no more of a change. */
const LEAVES_MAX = 12

/** More about it, where the entry has more: a reason, an error, what changed. */
export function entryDetail({ kind, data }: TimelineEntry): string | undefined {
  const error = Object(data['error']) as { readonly code?: unknown; readonly message?: unknown }
  if (error.code !== undefined) return plainText(`${textOf(error.code)}: ${textOf(error.message)}`)
  if (kind === 'shadow')
    // The patch was JSON on its way.
    return editsOf((data['patch'] ?? {}) as JsonObject)
      .slice(0, LEAVES_MAX)
      .map(
        (edit) =>
          `${plainText(edit.path.join('.'))}: ${edit.kind === 'set' ? shownValue(edit.value) : t('removed')}`,
      )
      .join(', ')
  const said = data['reason'] ?? data['message'] ?? data['value']
  return said == null ? undefined : plainText(textOf(said))
}

const textOf = (value: unknown): string =>
  value == null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
