// What needs a person, as cases: each with its cause, how many, since when, and the way to it.
import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import type { AttentionCase } from '../../fleet/attention.ts'
import { Age } from '../../parts/age.tsx'
import { Button } from '../../parts/button.tsx'
import { connectionReason } from '../../parts/connection-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { CaseRemedy, RemedyDialog } from './case-remedy.tsx'
import { type Remedy, type ShownCase, worstFirst } from './more-cases.ts'
import { t } from './overview-words.ts'
import { useMoreCases } from './use-more-cases.ts'

/** Each is a request of its own. */
const REASONS_MAX = 5
const GLYPHS = { critical: '✕', warning: '▲', info: '◔' } as const

/** The state in which a case was hidden, by its key. */
const hidden = signal<ReadonlyMap<string, string>>(new Map())

export function AttentionList({ cases }: { readonly cases: readonly AttentionCase[] }) {
  const [asked, setAsked] = useState<Remedy | undefined>(undefined)
  const more = useMoreCases(cases.some(({ kind }) => kind === 'error'))
  // An alert is told by its rule, and an error by its issue, and not once more by their devices.
  const own = cases.filter(
    ({ kind }) => !(kind === 'critical' && more.hasAlerts) && !(kind === 'error' && more.hasIssues),
  )
  const all = worstFirst([...own.map(shownCase), ...more.cases])
  const shown = all.filter(({ key, state }) => hidden.value.get(key) !== state)
  return (
    <section class="card attention" aria-labelledby="attention">
      <h2 id="attention">{t('attention')}</h2>
      {more.error !== undefined && <p class="severity-warning">▲ {t('casesMissing')}</p>}
      {shown.length === 0 && more.error === undefined && !more.isLoading && (
        <Calm hiddenCount={all.length} takenOver={more.openAlerts} />
      )}
      <ul class="cases">
        {shown.map(({ key, state, severity, sentence, firstId, isLost, at, href, remedy }, i) => (
          <li key={key} class="case">
            <span class={`severity-${severity}`} aria-hidden="true">
              {GLYPHS[severity]}
            </span>
            <a href={href}>{sentence}</a>
            <span class="case-more muted">
              {firstId !== undefined && (
                <span>
                  {t('first', { id: firstId })}
                  {isLost && i < REASONS_MAX && <Reason id={firstId} />}
                </span>
              )}
              {at !== undefined && at > 0 && <Age at={at} />}
            </span>
            <span class="case-actions">
              {remedy !== undefined && <CaseRemedy remedy={remedy} sentence={sentence} onAsk={setAsked} />}
              <Button
                kind="quiet"
                icon="eye-off"
                label={t('hide', { name: sentence })}
                onClick={() => {
                  hidden.value = new Map([...hidden.peek(), [key, state]])
                }}
              />
            </span>
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
      {asked !== undefined && <RemedyDialog remedy={asked} onClose={() => setAsked(undefined)} />}
    </section>
  )
}

/** Why the first device of a group went: what took it took the others. */
function Reason({ id }: { readonly id: string }) {
  const reason = useAnswer('getDevice', { device_id: id }).data?.connectivity.reason
  const text = connectionReason(reason ?? null)
  return text === undefined ? null : <> ({text})</>
}

/** Nobody is told that all is well above warnings that are still open. */
function Calm({ hiddenCount, takenOver }: { readonly hiddenCount: number; readonly takenOver: number }) {
  if (hiddenCount > 0) return <p class="muted">{t('allHidden')}</p>
  if (takenOver > 0)
    return (
      <p class="muted">
        <a href={pathOf('alerts', {}, { state: 'acknowledged' })}>{t('takenOver', { n: takenOver })}</a>
      </p>
    )
  return <p class="muted">✓ {t('calm')}</p>
}

function shownCase({ kind, severity, group, count, at, firstId, query }: AttentionCase): ShownCase {
  const name = group === '' ? t('fleet') : plainText(group)
  return {
    key: `${kind} ${group}`,
    state: String(count),
    severity,
    sentence: t(kind, { n: count, group: name }),
    firstId,
    isLost: kind === 'lost',
    at,
    href: pathOf('devices', {}, { q: query }),
  }
}
