// The time of a list, in the address: the last hours, counted back from now, or two instants. Nothing is any time.
import { useState } from 'preact/hooks'
import { text } from '../address/codecs.ts'
import { readTimes } from '../address/time-filter.ts'
import { queryValue, setQuery } from '../navigation/navigation.ts'
import { localMs } from '../words/local-time.ts'
import { instant } from '../words/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { SelectField } from './select-field.tsx'
import { submits } from './submits.ts'

const t = words({
  any: ['any', 'jede'],
  '-15m': ['the last 15 minutes', 'die letzten 15 Minuten'],
  '-1h': ['the last hour', 'die letzte Stunde'],
  '-24h': ['the last 24 hours', 'die letzten 24 Stunden'],
  '-7d': ['the last 7 days', 'die letzten 7 Tage'],
  custom: ['from … to …', 'von … bis …'],
  other: ['{from} – {to}', '{from} – {to}'],
  show: ['Show', 'Anzeigen'],
})

const SPANS = ['-15m', '-1h', '-24h', '-7d'] as const
const fromValue = queryValue('from', text('', 40))
const toValue = queryValue('to', text('', 40))

/** What the address asks for, for the query of a list. What cannot be read is left out. */
export const timesInAddress = () => readTimes(fromValue.value, toValue.value)

export function TimeFilter() {
  const [isOpen, setOpen] = useState(false)
  const times = timesInAddress()
  const span = SPANS.find((word) => word === times.from && times.to === undefined)
  const isAny = times.from === undefined && times.to === undefined
  const value = isOpen ? 'custom' : (span ?? (isAny ? 'any' : 'other'))
  const told = (time: string | undefined) =>
    time === undefined || time.startsWith('-') ? (time ?? '…') : instant(Date.parse(time))
  return (
    <>
      <SelectField
        label={t('time')}
        value={value}
        options={[
          ['any', t('any')],
          ...SPANS.map((word) => [word, t(word)] as const),
          ...(value === 'other'
            ? [['other', t('other', { from: told(times.from), to: told(times.to) })] as const]
            : []),
          ['custom', t('custom')],
        ]}
        onValue={(word) => {
          setOpen(word === 'custom')
          if (word !== 'custom' && word !== 'other')
            setQuery({ from: word === 'any' ? undefined : word, to: undefined })
        }}
      />
      {isOpen && <Instants onDone={() => setOpen(false)} />}
    </>
  )
}

function Instants({ onDone }: { readonly onDone: () => void }) {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const iso = (local: string) => (local === '' ? undefined : new Date(localMs(local)).toISOString())
  return (
    <form
      class="row time-instants"
      onSubmit={submits(() => {
        setQuery({ from: iso(from), to: iso(to) })
        onDone()
      })}
    >
      <Field label={t('from')} type="datetime-local" step={1} value={from} onValue={setFrom} />
      <Field label={t('to')} type="datetime-local" step={1} value={to} onValue={setTo} />
      <Button type="submit">{t('show')}</Button>
    </form>
  )
}
