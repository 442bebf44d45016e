// What needs a person, as cases: each with its cause, how many, since when, and the way to it.
import { signal } from '@preact/signals'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import type { AttentionCase } from '../../fleet/attention.ts'
import { fleetStats } from '../../live/fleet-index.ts'
import { Age } from '../../parts/age.tsx'
import { Button } from '../../parts/button.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { t } from './overview-words.ts'

interface Shown {
  readonly key: string
  /** What it is now: a hidden case comes back when this changes. */
  readonly state: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly sentence: string
  readonly firstId?: string
  readonly at?: number
  readonly href: string
}

const GLYPHS = { critical: '✕', warning: '▲', info: '◔' } as const

/** The state in which a case was hidden, by its key. */
const hidden = signal<ReadonlyMap<string, string>>(new Map())

export function AttentionList({ cases }: { readonly cases: readonly AttentionCase[] }) {
  const all = [...cases.map(shownCase), ...commandCase()]
  const shown = all.filter(({ key, state }) => hidden.value.get(key) !== state)
  return (
    <section class="card attention" aria-labelledby="attention">
      <h2 id="attention">{t('attention')}</h2>
      {shown.length === 0 && <p class="muted">✓ {t('calm')}</p>}
      <ul class="cases">
        {shown.map(({ key, state, severity, sentence, firstId, at, href }) => (
          <li key={key} class="case">
            <span class={`severity-${severity}`} aria-hidden="true">
              {GLYPHS[severity]}
            </span>
            <a href={href}>{sentence}</a>
            <span class="case-more muted">
              {firstId !== undefined && <span>{t('first', { id: firstId })}</span>}
              {at !== undefined && at > 0 && <Age at={at} />}
            </span>
            <Button
              kind="quiet"
              icon="eye-off"
              label={t('hide', { name: sentence })}
              onClick={() => {
                hidden.value = new Map([...hidden.peek(), [key, state]])
              }}
            />
          </li>
        ))}
      </ul>
      {shown.length < all.length && (
        <Button
          kind="quiet"
          onClick={() => {
            hidden.value = new Map()
          }}
        >
          {t('hidden', { n: all.length - shown.length })}
        </Button>
      )}
    </section>
  )
}

function shownCase({ kind, severity, group, count, at, firstId, query }: AttentionCase): Shown {
  const name = group === '' ? t('fleet') : plainText(group)
  return {
    key: `${kind} ${group}`,
    state: String(count),
    severity,
    sentence: t(kind, { n: count, group: name }),
    firstId,
    at,
    href: pathOf('devices', {}, { q: query }),
  }
}

function commandCase(): readonly Shown[] {
  const count = fleetStats.value?.commands?.failed_1h ?? 0
  if (count === 0 || !may('sendCommand')) return []
  return [
    {
      key: 'commands',
      state: String(count),
      severity: 'warning',
      sentence: t('failedCommands', { n: count }),
      href: pathOf('commands', {}, { status: 'failed' }),
    },
  ]
}
