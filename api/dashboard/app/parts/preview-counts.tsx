// Whom something would reach, before it is sent (D6).

import type { TargetPreview } from '../../../../schemas/target-preview.ts'
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import { pathOf } from '../address/routes.ts'
import { number, words } from '../words/words.ts'
import { plainText } from './plain-text.ts'
import { stateWord } from './state-words.ts'
import { StatusMark } from './status-mark.tsx'

const t = words({
  title: ['Reaches {n} device | Reaches {n} devices', 'Es erreicht {n} Gerät | Es erreicht {n} Geräte'],
  skipped: ['{n} skipped | {n} skipped', '{n} wird ausgelassen | {n} werden ausgelassen'],
  first: ['The first {n}', 'Die ersten {n}'],
})

export function PreviewCounts({ preview }: { readonly preview: TargetPreview }) {
  const { total, accepted, by_status, by_type, by_reason, sample } = preview
  return (
    <section class="card" aria-live="polite">
      <h2>{t('title', { n: accepted })}</h2>
      <ul class="row">
        {Object.entries(by_status).map(([status, count]) => (
          <li key={status}>
            {/* The keys are statuses. */}
            <StatusMark status={status as DeviceStatus} /> {number(count)}
          </li>
        ))}
      </ul>
      <p class="muted">
        {t('byType')}:{' '}
        {Object.entries(by_type)
          .map(([type, count]) => `${type} ${number(count)}`)
          .join(', ')}
      </p>
      {total > accepted && (
        <p>
          {t('skipped', { n: total - accepted })}:{' '}
          {Object.entries(by_reason)
            .map(([reason, count]) => `${stateWord(reason)} ${number(count)}`)
            .join(', ')}
        </p>
      )}
      {sample.length > 0 && (
        <details>
          <summary>{t('first', { n: sample.length })}</summary>
          <ul class="stack">
            {sample.map(({ device_id, name, status }) => (
              <li key={device_id} class="row">
                <a href={pathOf('device', { device_id })}>{plainText(name)}</a>
                <StatusMark status={status} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}
