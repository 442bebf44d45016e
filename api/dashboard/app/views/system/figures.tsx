// The figures of all nodes for who runs the service: what is on its way, with its bound beside it, and who does what.
import { useRef } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { Spark } from '../../charts/spark.tsx'
import { useAnswer } from '../../data/answers.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { byteCount } from '../../parts/byte-count.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { duration } from '../../words/time.ts'
import { number, words } from '../../words/words.ts'

const t = words({
  figures: ['Figures', 'Kennzahlen'],
  messages: ['Messages/s', 'Nachrichten/s'],
  points: ['Points/s', 'Punkte/s'],
  lag: ['Maximum lag', 'Größter Rückstand'],
  log: ['Log', 'Log'],
  rows: ['Rows to insert', 'Zeilen unterwegs'],
  history: ['and {n} of history', 'und {n} der Geschichte'],
  insert: ['Insert, p99', 'Einfügen, p99'],
  sockets: ['Open sockets', 'Offene Sockets'],
  held: ['{size} waiting', '{size} warten'],
  dropped: [
    '{n} event dropped | {n} events dropped',
    '{n} Ereignis ausgelassen | {n} Ereignisse ausgelassen',
  ],
  of: ['of {size}', 'von {size}'],
  nodes: ['Nodes', 'Knoten'],
  node: ['Node', 'Knoten'],
  silent: ['does not answer', 'antwortet nicht'],
  broken: ['{names} not working', '{names} läuft nicht'],
  started: ['Started', 'Gestartet'],
  owned: ['Partitions', 'Partitionen'],
  leads: ['leads', 'führt'],
  partitions: ['Partitions', 'Partitionen'],
  orphans: [
    '{n} partition has no owner | {n} partitions have no owner',
    '{n} Partition hat gerade keinen Besitzer | {n} Partitionen haben gerade keinen Besitzer',
  ],
  behind: [
    '{n} of {all} partitions is behind | {n} of {all} partitions are behind',
    '{n} von {all} Partitionen ist im Rückstand | {n} von {all} Partitionen sind im Rückstand',
  ],
  level: [
    'All {all} partitions have an owner and are up to date',
    'Alle {all} Partitionen haben einen Besitzer und sind auf dem Stand',
  ],
  partition: ['Partition', 'Partition'],
  owner: ['Owner', 'Besitzer'],
  waits: ['Oldest message waiting', 'Älteste Nachricht wartet'],
})

type SystemReply = ReplyOf<Operations['getSystem']>

const EVERY_MS = 5000
/** Fewer make no line. */
const SPARK_VALUES_MIN = 3
/** An hour of answers. */
const SPARK_VALUES_MAX = 720
/** Below this a partition is as good as up to date. */
const BEHIND_FROM_MS = 1000

export function Figures() {
  const answer = useAnswer('getSystem', {}, { everyMs: EVERY_MS })
  const seen = useRef<{ readonly at: number; readonly data: SystemReply }[]>([])
  const { data, at } = answer
  if (data !== undefined && seen.current.at(-1)?.at !== at)
    seen.current = [...seen.current, { at, data }].slice(-SPARK_VALUES_MAX)
  return (
    <AnswerArea answer={answer}>
      {(state) => (
        <div class="stack">
          <Tiles state={state} seen={seen.current.map((one) => one.data)} />
          <Nodes nodes={state.nodes} />
          <Partitions partitions={state.partitions} />
        </div>
      )}
    </AnswerArea>
  )
}

function Tiles({ state, seen }: { readonly state: SystemReply; readonly seen: readonly SystemReply[] }) {
  const { rates, log, telemetry, sockets } = state
  const went = (read: (one: SystemReply) => number | null | undefined) => seen.map(read)
  const whole = (value: number) => number(value, { maximumFractionDigits: 0 })
  return (
    <ul class="tiles tiles-wide" aria-label={t('figures')}>
      <Tile
        name={t('messages')}
        value={whole(rates.messages_per_sec)}
        values={went((s) => s.rates.messages_per_sec)}
      />
      <Tile
        name={t('points')}
        value={whole(rates.points_per_sec)}
        values={went((s) => s.rates.points_per_sec)}
      />
      <Tile
        name={t('lag')}
        value={
          rates.lag_ms === null
            ? t('unknown')
            : rates.lag_ms < BEHIND_FROM_MS
              ? `${whole(rates.lag_ms)} ms`
              : duration(rates.lag_ms)
        }
        values={went((s) => s.rates.lag_ms)}
      />
      <Tile
        name={t('rows')}
        value={whole(telemetry.rows_waiting)}
        more={telemetry.history_rows_waiting === 0 ? '' : t('history', { n: telemetry.history_rows_waiting })}
        values={went((s) => s.telemetry.rows_waiting)}
      />
      <Tile
        name={t('insert')}
        value={telemetry.insert_p99_ms === null ? t('unknown') : `${whole(telemetry.insert_p99_ms)} ms`}
        values={went((s) => s.telemetry.insert_p99_ms)}
      />
      <Tile
        name={t('log')}
        value={log === null ? t('unknown') : byteCount(log.bytes)}
        more={log === null ? '' : t('of', { size: byteCount(log.bytes_max) })}
        values={went((s) => s.log?.bytes)}
      />
      <Tile
        name={t('sockets')}
        value={whole(sockets.open)}
        more={
          sockets.dropped > 0
            ? t('dropped', { n: sockets.dropped })
            : sockets.held_bytes > 0
              ? t('held', { size: byteCount(sockets.held_bytes) })
              : ''
        }
        values={went((s) => s.sockets.open)}
      />
    </ul>
  )
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly more?: string
  /** How it went while this page was open. */
  readonly values: readonly (number | null | undefined)[]
}

function Tile({ name, value, more = '', values }: TileProps) {
  return (
    <li class="tile">
      <span class="muted">{name}</span>
      <strong class="tile-count">{value}</strong>
      {more !== '' && <span class="muted">{more}</span>}
      {values.length >= SPARK_VALUES_MIN && <Spark values={values} width={132} height={20} />}
    </li>
  )
}

function Nodes({ nodes }: { readonly nodes: SystemReply['nodes'] }) {
  return (
    <section class="card">
      <h2>{t('nodes')}</h2>
      <DataTable
        caption={t('nodes')}
        rows={nodes}
        idOf={({ node }) => node}
        columns={[
          {
            name: t('node'),
            cell: ({ node, leads }) => (
              <>
                <code>{node}</code> {leads && <span class="muted">{t('leads')}</span>}
              </>
            ),
          },
          { name: t('state'), cell: (node) => <NodeState node={node} /> },
          { name: t('version'), cell: ({ version }) => version ?? '–' },
          { name: t('started'), cell: ({ started_at }) => <Age at={started_at} /> },
          { name: t('owned'), isNumber: true, cell: ({ partitions }) => number(partitions) },
        ]}
      />
    </section>
  )
}

function NodeState({ node: { answers, dependencies } }: { readonly node: SystemReply['nodes'][number] }) {
  const broken = dependencies.filter(({ ok }) => !ok).map(({ name }) => name)
  const isWell = answers && broken.length === 0
  return (
    <span class={isWell ? 'status-online' : 'status-error'}>
      <span aria-hidden="true">{isWell ? '●' : '✕'}</span>{' '}
      {!answers ? t('silent') : isWell ? t('works') : t('broken', { names: broken.join(', ') })}
    </span>
  )
}

function Partitions({ partitions }: { readonly partitions: SystemReply['partitions'] }) {
  const orphans = partitions.filter(({ owner }) => owner === null)
  const behind = partitions.filter(({ lag_ms }) => (lag_ms ?? 0) >= BEHIND_FROM_MS)
  const shown = [...orphans, ...behind]
  return (
    <section class="card">
      <h2>{t('partitions')}</h2>
      {orphans.length > 0 && <p class="status-error">{t('orphans', { n: orphans.length })}</p>}
      {behind.length > 0 && <p>{t('behind', { n: behind.length, all: partitions.length })}</p>}
      {shown.length === 0 && <p class="muted">{t('level', { all: partitions.length })}</p>}
      {shown.length > 0 && (
        <DataTable
          caption={t('partitions')}
          rows={shown}
          idOf={({ id }) => String(id)}
          columns={[
            { name: t('partition'), isNumber: true, cell: ({ id }) => id },
            { name: t('owner'), cell: ({ owner }) => (owner === null ? '–' : <code>{owner}</code>) },
            { name: t('waits'), cell: ({ lag_ms }) => (lag_ms === null ? t('unknown') : duration(lag_ms)) },
          ]}
        />
      )}
    </section>
  )
}
