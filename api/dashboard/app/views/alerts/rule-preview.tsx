// What the rule would have said of the past, before it is saved: nothing is kept by trying, and nobody is told.
import { useMemo, useState } from 'preact/hooks'
import type { RuleRequestBody } from '../../../../../schemas/alert-rule.ts'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import type { Marker } from '../../charts/marker.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { Button } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { duration, now } from '../../words/time.ts'
import { number, words } from '../../words/words.ts'
import { judgedMetric } from './condition-metric.ts'
import { MomentChart } from './moment-chart.tsx'

const t = words({
  title: ['Test on past data', 'An der Vergangenheit erproben'],
  intro: [
    'Runs the rule as written here over stored points. Nothing is saved, and nobody is notified.',
    'Die gespeicherten Punkte werden mit der Regel beurteilt, wie sie hier steht. Nichts wird gespeichert, niemand benachrichtigt.',
  ],
  over: ['Over', 'Über'],
  hour: ['the last hour', 'die letzte Stunde'],
  day: ['the last 24 hours', 'die letzten 24 Stunden'],
  week: ['the last 7 days', 'die letzten 7 Tage'],
  run: ['Run test', 'Erproben'],
  fired: [
    'It would have fired {n} time | It would have fired {n} times',
    'Sie hätte {n}-mal ausgelöst | Sie hätte {n}-mal ausgelöst',
  ],
  on: ['on {n} device, | on {n} devices,', 'auf {n} Gerät | auf {n} Geräten'],
  told: [
    'with {n} notification. | with {n} notifications.',
    'mit {n} Benachrichtigung. | mit {n} Benachrichtigungen.',
  ],
  looked: [
    '{points} points of {devices} devices were evaluated.',
    '{points} Punkte von {devices} Geräten wurden beurteilt.',
  ],
  truncated: [
    'Too many devices or alerts: the result covers only a part of them.',
    'Es gibt mehr Geräte oder mehr Alarme, als erprobt oder gezählt wurden.',
  ],
  outdated: [
    'The rule has changed since; run the test again.',
    'Die Regel wurde seither geändert; erproben Sie sie noch einmal.',
  ],
  caption: ['What would have fired', 'Was ausgelöst hätte'],
  at: ['Fired', 'Ausgelöst'],
  lasted: ['Lasted', 'Dauer'],
  open: ['ongoing', 'noch so'],
  peak: ['Peak', 'Spitze'],
  shown: ['The first {n} of {total} are shown.', 'Die ersten {n} von {total} werden gezeigt.'],
  draw: ['Draw', 'Zeichnen'],
  mark: ['would have fired', 'hätte ausgelöst'],
})

const SPANS = { '-1h': 'hour', '-24h': 'day', '-7d': 'week' } as const
type From = keyof typeof SPANS
const SPAN_MS: Readonly<Record<From, number>> = { '-1h': 3_600_000, '-24h': 86_400_000, '-7d': 604_800_000 }
const ROWS_MAX = 20

type RuleTestResult = ReplyOf<Operations['testAlertRule']>

interface RuleTrial {
  readonly rule: RuleRequestBody
  readonly result: RuleTestResult
  readonly fromMs: number
  readonly toMs: number
}

export interface RulePreviewProps {
  /** Undefined while what is written is no rule. */
  readonly rule: RuleRequestBody | undefined
}

export function RulePreview({ rule }: RulePreviewProps) {
  const [from, setFrom] = useState<From>('-24h')
  const [tried, setTried] = useState<RuleTrial | undefined>(undefined)
  const write = useWrite(async (wish: RuleRequestBody) => {
    setTried(undefined)
    const toMs = now.peek()
    // A rule that has no name yet can be tried all the same.
    const body = { rule: wish.name === '' ? { ...wish, name: t('title') } : wish, from }
    setTried({ rule: wish, result: await fleet.testAlertRule({ body }), fromMs: toMs - SPAN_MS[from], toMs })
  })
  const isOutdated = tried !== undefined && JSON.stringify(tried.rule) !== JSON.stringify(rule)
  return (
    <section class="card">
      <h2>{t('title')}</h2>
      <p class="hint">{t('intro')}</p>
      <div class="filters">
        <SelectField
          label={t('over')}
          options={(Object.keys(SPANS) as From[]).map((word) => [word, t(SPANS[word])] as const)}
          value={from}
          onValue={setFrom}
        />
        <Button
          icon="play"
          write={write}
          isBusy={write.isUnderWay.value || rule === undefined}
          onClick={() => rule !== undefined && void write.run(rule)}
        >
          {t('run')}
        </Button>
      </div>
      <ProblemCard error={write.error.value} />
      <div role="status">
        {isOutdated && <p class="severity-warning">{t('outdated')}</p>}
        {tried !== undefined && <Summary result={tried.result} />}
      </div>
      {tried !== undefined && tried.result.episodes.length > 0 && <Episodes tried={tried} />}
    </section>
  )
}

function Summary({
  result: { episodes, devices, points, notifications, truncated },
}: Pick<RuleTrial, 'result'>) {
  const affected = new Set(episodes.map(({ device_id }) => device_id)).size
  return (
    <>
      <p>
        <strong>
          {t('fired', { n: episodes.length })} {t('on', { n: affected })} {t('told', { n: notifications })}
        </strong>
      </p>
      <p class="muted">{t('looked', { points, devices })}</p>
      {truncated && <p class="severity-warning">{t('truncated')}</p>}
    </>
  )
}

type Episode = RuleTestResult['episodes'][number]

function Episodes({ tried: { rule, result, fromMs, toMs } }: { readonly tried: RuleTrial }) {
  const { episodes } = result
  const [drawn, setDrawn] = useState(episodes[0]?.device_id ?? '')
  const judged = judgedMetric(rule.condition)
  const span = useMemo(() => ({ fromMs, toMs }), [fromMs, toMs])
  const markers = useMemo(
    () =>
      episodes
        .filter(({ device_id }) => device_id === drawn)
        .map(({ fired_at }): Marker => ({ at: Date.parse(fired_at), kind: 'alert', text: t('mark') })),
    [episodes, drawn],
  )
  const columns: readonly Column<Episode>[] = [
    { name: t('device'), cell: ({ device_id }) => <a href={pathOf('device', { device_id })}>{device_id}</a> },
    { name: t('at'), cell: ({ fired_at }) => <Age at={fired_at} /> },
    {
      name: t('lasted'),
      isNumber: true,
      cell: ({ started_at, resolved_at }) =>
        resolved_at === null ? t('open') : duration(Date.parse(resolved_at) - Date.parse(started_at)),
    },
    { name: t('peak'), isNumber: true, cell: ({ peak }) => (peak === null ? '–' : number(peak)) },
    ...(judged === undefined
      ? []
      : [
          {
            name: t('draw'),
            cell: ({ device_id }: Episode) => (
              <button
                type="button"
                class="chip chip-choice"
                aria-pressed={device_id === drawn}
                onClick={() => setDrawn(device_id)}
              >
                {t('draw')} <span class="visually-hidden">{device_id}</span>
              </button>
            ),
          },
        ]),
  ]
  const rows = episodes.slice(0, ROWS_MAX).map((episode, index) => ({ ...episode, row: String(index) }))
  return (
    <>
      {judged !== undefined && <MomentChart deviceId={drawn} judged={judged} span={span} markers={markers} />}
      <DataTable caption={t('caption')} columns={columns} rows={rows} idOf={({ row }) => row} />
      {episodes.length > ROWS_MAX && (
        <p class="muted">{t('shown', { n: ROWS_MAX, total: episodes.length })}</p>
      )}
    </>
  )
}
