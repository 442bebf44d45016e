// How fresh the page is: live, or away since when and when it tries again, and what was left out.
import { areNamesMissing } from '../live/fleet-index.ts'
import { connection, droppedCount, isPaused, isThriftyLine, retryNow } from '../live/live.ts'
import { clockTime, duration, now } from '../words/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({
  thrifty: ['live, every 5 s to save data', 'live, alle 5 s, um Daten zu sparen'],
  nameless: ['live, loading names', 'live, Namen folgen'],
  connecting: ['connecting', 'verbindet'],
  away: ['not connected', 'nicht verbunden'],
  silent: ['no news for {time}', 'seit {time} nichts Neues'],
  dropped: [
    '{n} value was skipped while this tab was hidden or too slow | {n} values were skipped while this tab was hidden or too slow',
    '{n} Wert wurde ausgelassen, während dieser Tab verdeckt oder zu langsam war | {n} Werte wurden ausgelassen, während dieser Tab verdeckt oder zu langsam war',
  ],
  since: ['Not connected since {time}', 'Nicht verbunden seit {time}'],
  again: [', trying again in {seconds} s', ', neuer Versuch in {seconds} s'],
  asOf: ['as of {time}', 'Stand {time}'],
  retry: ['Retry now', 'Jetzt versuchen'],
  forbidden: [
    'Your account can no longer see live updates. Log in again.',
    'Ihr Konto darf keine Live-Daten mehr sehen. Melden Sie sich neu an.',
  ],
  tooMany: [
    'Too many windows of this account are open. Close some; this one tries again.',
    'Zu viele Fenster dieses Kontos sind offen. Schließen Sie einige; dieses versucht es wieder.',
  ],
})

export function FreshnessDot() {
  const at = connection.value
  const { state } = at
  const isStill = isPaused.value && state === 'live'
  const word = isStill
    ? t('paused')
    : state === 'live'
      ? t(areNamesMissing.value ? 'nameless' : isThriftyLine ? 'thrifty' : 'live')
      : state === 'connecting'
        ? t('connecting')
        : at.state === 'silent'
          ? // `now` makes it count on.
            t('silent', { time: duration(now.value === 0 ? 0 : Date.now() - at.since) })
          : t('away')
  const dropped = droppedCount.value
  return (
    <span
      class={`freshness freshness-${isStill ? 'paused' : state}`}
      title={dropped > 0 ? t('dropped', { n: dropped }) : undefined}
    >
      <span aria-hidden="true">●</span> {word}
      {dropped > 0 && ` · −${dropped}`}
    </span>
  )
}

/** When what is shown was last known to be so, while nothing new is heard. */
export function AsOf() {
  const at = connection.value
  if (at.state !== 'away' && at.state !== 'silent') return null
  return <span class="as-of">{t('asOf', { time: clockTime(at.since) })}</span>
}

/** The bar under the header while there is no connection. What was shown stays. */
export function ConnectionBar() {
  const at = connection.value
  if (at.state === 'closed')
    return (
      <p class="bar" role="status">
        {at.reason === 'forbidden' ? t('forbidden') : t('tooMany')}
      </p>
    )
  if (at.state !== 'away') return null
  // `now` makes it count down.
  const seconds = now.value === 0 ? 0 : Math.max(0, Math.ceil((at.retryAt - Date.now()) / 1000))
  return (
    <p class="bar">
      <span role="status">{t('since', { time: clockTime(at.since) })}</span>
      {/* Not in the part that is read out: it changes each second. */}
      <span>{t('again', { seconds })}</span>{' '}
      <Button kind="quiet" onClick={retryNow}>
        {t('retry')}
      </Button>
    </p>
  )
}
