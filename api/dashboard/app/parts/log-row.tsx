import { exactInstant, instant } from '../words/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import type { GapLine, Line } from './log-ring.ts'
import { plainText } from './plain-text.ts'
import './log-row.css'

const t = words({
  dropped: [
    '{n} line dropped here | {n} lines dropped here',
    '{n} Zeile fehlt hier | {n} Zeilen fehlen hier',
  ],
  unknown: ['Lines may be missing here', 'Hier können Zeilen fehlen'],
  load: ['Load them', 'Laden'],
})

export interface LogRowProps {
  readonly line: Line
  /** Marked in the message. */
  readonly find: string
  readonly onFill: (gap: GapLine) => void
}

/** A line of the log, with its fields beneath it when it is opened; or the line of a gap. */
export function LogRow({ line, find, onFill }: LogRowProps) {
  if (line.kind === 'gap')
    return (
      <div class="log-gap">
        ⋯ {line.dropped === 0 ? t('unknown') : t('dropped', { n: line.dropped })}{' '}
        <Button kind="quiet" onClick={() => onFill(line)}>
          {t('load')}
        </Button>
      </div>
    )
  const fields = Object.entries(line.fields)
  const head = (
    <>
      <time class="muted nowrap" dateTime={exactInstant(line.at)} title={exactInstant(line.at)}>
        {instant(line.at)}
      </time>{' '}
      <span class={`log-level log-${line.level}`}>{line.level.toUpperCase()}</span>{' '}
      {line.logger !== null && <span class="muted">{plainText(line.logger)} </span>}
      <Marked text={plainText(line.message)} find={find} />
    </>
  )
  if (fields.length === 0) return <div class="log-row">{head}</div>
  return (
    <details class="log-row">
      <summary>{head}</summary>
      <dl class="facts log-fields">
        {fields.map(([name, value]) => (
          <div key={name} class="log-field">
            <dt>{plainText(name)}</dt>
            <dd>{plainText(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function Marked({ text, find }: { readonly text: string; readonly find: string }) {
  const at = find === '' ? -1 : text.toLowerCase().indexOf(find.toLowerCase())
  if (at === -1) return <span>{text}</span>
  return (
    <span>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + find.length)}</mark>
      {text.slice(at + find.length)}
    </span>
  )
}
