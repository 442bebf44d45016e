// Goes to a time of the log, and back to what comes in now.
import { useState } from 'preact/hooks'
import { text } from '../../../address/codecs.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { Button } from '../../../parts/button.tsx'
import { Field } from '../../../parts/field.tsx'
import { submits } from '../../../parts/submits.ts'
import { localMs } from '../../../words/local-time.ts'
import { instant } from '../../../words/time.ts'
import { words } from '../../../words/words.ts'

const t = words({
  to: ['Jump to time', 'Zu einer Zeit springen'],
  jump: ['Jump', 'Springen'],
  shown: ['Lines until {time}', 'Die Zeilen bis {time}'],
  now: ['Back to now', 'Zurück zu jetzt'],
})

const untilValue = queryValue('until', text('', 40))

/** The time that the address names; undefined is now. */
export function logUntil(): string | undefined {
  const ms = Date.parse(untilValue.value)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

export function LogJump() {
  const [wanted, setWanted] = useState('')
  const until = logUntil()
  if (until !== undefined)
    return (
      <p class="row">
        {t('shown', { time: instant(Date.parse(until)) })}
        <Button onClick={() => untilValue.set('', { replace: false })}>{t('now')}</Button>
      </p>
    )
  return (
    <form
      class="row log-jump"
      onSubmit={submits(() => {
        if (wanted !== '') untilValue.set(new Date(localMs(wanted)).toISOString(), { replace: false })
      })}
    >
      <Field label={t('to')} type="datetime-local" step={1} value={wanted} onValue={setWanted} />
      <Button type="submit">{t('jump')}</Button>
    </form>
  )
}
