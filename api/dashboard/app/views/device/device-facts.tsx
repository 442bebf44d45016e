// What a person wants to know of a device before anything else.
import type { DeviceBody } from '../../../../../schemas/device.ts'
import { pathOf } from '../../address/routes.ts'
import { Age } from '../../parts/age.tsx'
import { connectionReason } from '../../parts/connection-text.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { Facts } from '../../parts/facts.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { words } from '../../words/words.ts'

const t = words({
  flapping: ['flapping: it reconnects again and again', 'unstet: verbindet sich immer wieder neu'],
  seen: ['Last seen', 'Zuletzt gehört'],
  never: ['never', 'noch nie'],
  gateway: ['Gateway', 'Gateway'],
})

export function DeviceFacts({ device }: { readonly device: DeviceBody }) {
  const { connectivity: at } = device
  const more = [connectionReason(at.reason), at.ip].filter((part) => part != null).join(' · ')
  return (
    <div class="device-facts">
      <Facts
        rows={[
          [t('deviceId'), <CopyField text={device.device_id} label={t('deviceId')} />],
          [t('reason'), device.status_reason === null ? undefined : plainText(device.status_reason)],
          [
            t('connection'),
            <>
              {at.connected ? t('connected') : t('notConnected')} {at.since !== null && <Age at={at.since} />}
              {more !== '' && <span class="muted"> · {more}</span>}
              {at.flapping && <span class="severity-warning"> ▲ {t('flapping')}</span>}
            </>,
          ],
          [t('seen'), device.last_seen_at === null ? t('never') : <Age at={device.last_seen_at} />],
          [
            t('group'),
            device.group === null ? (
              <span class="muted">–</span>
            ) : (
              <a href={pathOf('devices', {}, { q: `group:${device.group}` })}>{device.group}</a>
            ),
          ],
          [t('type'), plainText(device.type)],
          [
            t('firmware'),
            device.firmware_version === null ? t('unknown') : plainText(device.firmware_version),
          ],
          [
            t('gateway'),
            device.parent_id === null ? undefined : (
              <a href={pathOf('device', { device_id: device.parent_id })}>{device.parent_id}</a>
            ),
          ],
          [
            t('tags'),
            device.tags.length === 0 ? undefined : (
              <span class="row device-tags">
                {device.tags.map((tag) => (
                  <span key={tag} class="chip">
                    {plainText(tag)}
                  </span>
                ))}
              </span>
            ),
          ],
        ]}
      />
    </div>
  )
}
