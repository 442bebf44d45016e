// The device's log as it comes in: newest at the foot. Scrolling up holds it, and says what came meanwhile.

import { useEffect, useRef, useState } from 'preact/hooks'
import { LOG_LEVELS } from '../../../../../../schemas/vocabulary.ts'
import { text, words as wordsOf } from '../../../address/codecs.ts'
import { omitEmpty } from '../../../address/omit-empty.ts'
import { fleet } from '../../../data/client.ts'
import { useWrite } from '../../../data/writes.ts'
import { LIMITS } from '../../../limits.ts'
import { isPaused, useWatch } from '../../../live/live.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { Button } from '../../../parts/button.tsx'
import { ChoiceChips } from '../../../parts/choice-chips.tsx'
import { CopyField } from '../../../parts/copy-field.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { Field } from '../../../parts/field.tsx'
import {
  EMPTY_RING,
  filled,
  type GapLine,
  type Line,
  type LogEntry,
  linesSince,
  shownLines,
  toLine,
  withGap,
  withLines,
} from '../../../parts/log-ring.ts'
import { LogRow } from '../../../parts/log-row.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { saveFile } from '../../../parts/save-file.ts'
import { now } from '../../../words/time.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { LogJump, logUntil } from './log-jump.tsx'

const t = words({
  tail: ['Log lines', 'Log-Zeilen'],
  news: ['{n} new line | {n} new lines', '{n} neue Zeile | {n} neue Zeilen'],
  earlier: ['Load earlier lines', 'Frühere Zeilen laden'],
  none: [
    'This device has not logged anything in the last two weeks',
    'Dieses Gerät hat in den letzten zwei Wochen nichts geloggt',
  ],
  how: ['A line is a message on its topic:', 'Eine Zeile ist eine Nachricht auf seinem Topic:'],
  match: ['No lines match.', 'Keine Zeile passt.'],
  forgotten: [
    '{n} older line was dropped to keep the newest {max}. | {n} older lines were dropped to keep the newest {max}.',
    '{n} ältere Zeile wurde fallen gelassen, um die neuesten {max} zu behalten. | {n} ältere Zeilen wurden fallen gelassen, um die neuesten {max} zu behalten.',
  ],
  drawn: [
    'Showing the newest {max} of {n} lines. Filter by level or text to see others.',
    'Die neuesten {max} von {n} Zeilen sind gezeichnet. Eine Stufe oder ein gesuchter Text zeigt andere.',
  ],
})

const levels = queryValue('level', wordsOf())
const find = queryValue('find', text('', 200))
const PAGE = 200
/** How long a line may take until the history has it. */
const STORED_MS = 3000
/** Lines on the page at once: the newest ones of those that match. */
const DRAWN_MAX = 1000

/** Another time is another tail. */
export default function LogsTab({ device }: TabProps) {
  const until = logUntil()
  return <Tail key={until} device={device} until={until} />
}

function Tail({ device, until }: TabProps & { readonly until: string | undefined }) {
  const { device_id: deviceId } = device
  const [ring, setRing] = useState(EMPTY_RING)
  const [cursor, setCursor] = useState<string | null | undefined>(undefined)
  /** The last line that was there when the person scrolled up. */
  const [held, setHeld] = useState<Line | undefined>(undefined)
  const tail = useRef<HTMLDivElement>(null)
  const max = LIMITS.logLinesMax
  const load = useWrite(async (from: string | undefined) => {
    const page = await fleet.listDeviceLogs({
      device_id: deviceId,
      query: {
        limit: PAGE,
        ...omitEmpty({ to: until, cursor: from }),
      },
    })
    const older = page.data.map(toLine).reverse()
    setRing((before) => {
      const known = new Set(before.lines.map(({ at }) => at))
      return {
        ...before,
        lines: [...older.filter(({ at }) => from !== undefined || !known.has(at)), ...before.lines],
      }
    })
    setCursor(page.next_cursor)
  })
  useEffect(() => void load.run(undefined), [])
  const isLive = until === undefined
  const watch = { channel: 'logs', filter: { device_id: deviceId }, snapshot: false } as const
  useWatch(isLive ? watch : undefined, ({ events, dropped, hasGap }) => {
    setRing((before) => {
      const gapped =
        dropped > 0 || hasGap
          ? withGap(before, dropped, Date.parse(events[0]?.ts ?? new Date().toISOString()), max)
          : before
      // Events of this channel have the body of a line.
      return withLines(
        gapped,
        events.map(({ data }) => toLine(data as LogEntry)),
        max,
      )
    })
  })
  const fill = useWrite(async (gap: GapLine) => {
    const at = ring.lines.indexOf(gap)
    const before = ring.lines[at - 1]?.at ?? gap.at - 60_000
    const after = ring.lines[at + 1]?.at ?? now.peek()
    const page = await fleet.listDeviceLogs({
      device_id: deviceId,
      query: { limit: PAGE, from: new Date(before).toISOString(), to: new Date(after + 1).toISOString() },
    })
    setRing((newest) => filled(newest, gap, page.data.map(toLine).reverse(), page.next_cursor === null))
  })
  const unknown = ring.lines.findLast((line) => line.kind === 'gap' && line.dropped === 0)
  useEffect(() => {
    if (unknown?.kind !== 'gap') return
    const timer = setTimeout(() => void fill.run(unknown), STORED_MS)
    return () => clearTimeout(timer)
  }, [unknown])
  const isHeld = held !== undefined || isPaused.value
  const since = held === undefined ? 0 : linesSince(ring.lines, held)
  const filter = { levels: levels.value, find: find.value }
  const lines = shownLines(ring.lines, filter)
  const shown = (
    since === 0 ? lines : shownLines(ring.lines.slice(0, ring.lines.length - since), filter)
  ).slice(-DRAWN_MAX)
  // Lines that the filter leaves out are no news to whoever set it.
  const news = since === 0 ? 0 : shownLines(ring.lines.slice(-since), filter).length
  useEffect(() => {
    if (!isHeld && tail.current !== null) tail.current.scrollTop = tail.current.scrollHeight
  }, [shown.length, isHeld, ring])
  const isEmpty = ring.lines.length === 0 && cursor === null && isLive
  return (
    <div class="stack">
      <div class="log-head">
        <ChoiceChips
          label={t('levels')}
          value={levels}
          options={LOG_LEVELS.map((level) => [level, level] as const)}
        />
        <Field label={t('find')} type="search" value={find.value} onValue={(value) => find.set(value)} />
        <LogJump />
        <Button icon="download" onClick={() => download(deviceId, lines)}>
          {t('download')}
        </Button>
      </div>
      {load.error.value !== undefined && (
        <ProblemCard error={load.error.value} onRetry={() => void load.run(undefined)} />
      )}
      <ProblemCard error={fill.error.value} />
      {isEmpty ? (
        <Empty title={t('none')}>
          <p>{t('how')}</p>
          <CopyField
            label={t('topicAndExample')}
            text={`fleet/${deviceId}/log  {"level":"warn","message":"the wheel slips"}`}
          />
        </Empty>
      ) : (
        <div class="log-frame">
          <div
            class="log-tail"
            ref={tail}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable by keys.
            tabIndex={0}
            role="log"
            aria-live="off"
            aria-label={t('tail')}
            onScroll={({ currentTarget: at }) => {
              const isAtFoot = at.scrollHeight - at.scrollTop - at.clientHeight < 8
              if (isAtFoot) setHeld(undefined)
              else setHeld((before) => before ?? ring.lines.at(-1))
            }}
          >
            {cursor != null && (
              <Button kind="quiet" write={load} onClick={() => void load.run(cursor)}>
                {t('earlier')}
              </Button>
            )}
            {ring.forgotten > 0 && <p class="hint">{t('forgotten', { n: ring.forgotten, max })}</p>}
            {lines.length > DRAWN_MAX && (
              <p class="hint">{t('drawn', { n: lines.length, max: DRAWN_MAX })}</p>
            )}
            {shown.length === 0 && <p class="muted">{t('match')}</p>}
            {shown.map((line, index) => (
              <LogRow
                key={`${line.at} ${index}`}
                line={line}
                find={find.value}
                onFill={(gap) => void fill.run(gap)}
              />
            ))}
          </div>
          {news > 0 && (
            <Button
              kind="primary"
              icon="chevron-down"
              onClick={() => {
                setHeld(undefined)
                if (tail.current !== null) tail.current.scrollTop = tail.current.scrollHeight
              }}
            >
              {t('news', { n: news })}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}

function download(deviceId: string, lines: readonly Line[]): void {
  const body = lines
    .map((line) => JSON.stringify({ ...line, at: new Date(line.at).toISOString() }))
    .join('\n')
  saveFile(`${deviceId}-log.ndjson`, body, 'application/x-ndjson')
}
