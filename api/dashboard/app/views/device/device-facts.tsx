// What a person wants to know of a device before anything else.
import type { DeviceBody } from '../../../../../schemas/device.ts'
import { pathOf } from '../../address/routes.ts'
import { Age } from '../../parts/age.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
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
  return (
    <div class="device-facts">
      <dl>
        <div>
          <dt>{t('deviceId')}</dt>
          <dd>
            <CopyField text={device.device_id} label={t('deviceId')} />
          </dd>
        </div>
        {device.status_reason !== null && (
          <div>
            <dt>{t('reason')}</dt>
            <dd>{plainText(device.status_reason)}</dd>
          </div>
        )}
        <div>
          <dt>{t('connection')}</dt>
          <dd>
            {at.connected ? t('connected') : t('notConnected')}
            {at.since !== null && (
              <>
                {' '}
                <Age at={at.since} />
              </>
            )}
            {at.reason !== null && <span class="muted"> · {plainText(at.reason)}</span>}
            {at.ip !== null && <span class="muted"> · {at.ip}</span>}
            {at.flapping && <span class="severity-warning"> ▲ {t('flapping')}</span>}
          </dd>
        </div>
        <div>
          <dt>{t('seen')}</dt>
          <dd>{device.last_seen_at === null ? t('never') : <Age at={device.last_seen_at} />}</dd>
        </div>
        <div>
          <dt>{t('group')}</dt>
          <dd>
            {device.group === null ? (
              <span class="muted">–</span>
            ) : (
              <a href={pathOf('devices', {}, { q: `group:${device.group}` })}>{device.group}</a>
            )}
          </dd>
        </div>
        <div>
          <dt>{t('type')}</dt>
          <dd>{plainText(device.type)}</dd>
        </div>
        <div>
          <dt>{t('firmware')}</dt>
          <dd>{device.firmware_version === null ? t('unknown') : plainText(device.firmware_version)}</dd>
        </div>
        {device.parent_id !== null && (
          <div>
            <dt>{t('gateway')}</dt>
            <dd>
              <a href={pathOf('device', { device_id: device.parent_id })}>{device.parent_id}</a>
            </dd>
          </div>
        )}
        {device.tags.length > 0 && (
          <div>
            <dt>{t('tags')}</dt>
            <dd class="row device-tags">
              {device.tags.map((tag) => (
                <span key={tag} class="chip">
                  {plainText(tag)}
                </span>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </div>
  )
}
