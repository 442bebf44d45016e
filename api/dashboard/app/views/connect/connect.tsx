// Connecting a device (4.3): registered, its token, a program for it, and the ladder that shows how it goes.
import { useState } from 'preact/hooks'
import { flag } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { BulkRegister } from './bulk-register.tsx'
import './connect.css'
import { t } from './connect-words.ts'
import { Ladder } from './ladder.tsx'
import { Programs } from './programs.tsx'
import { RegisterForm, type RegistrationReply } from './register-form.tsx'
import { TokenPanel } from './token-panel.tsx'

const isBulk = queryValue('bulk', flag)

export default function Connect() {
  const [device, setDevice] = useState<RegistrationReply | undefined>(undefined)
  if (!may('registerDevice'))
    return (
      <Page title={t('connectDevice')}>
        <Empty title={t('forbidden')} hint={t('forbiddenHint')} />
      </Page>
    )
  return (
    <Page title={t('connectDevice')}>
      {device === undefined && (
        <Tabs
          label={t('ways')}
          tabs={[
            { href: pathOf('connect'), label: t('one'), isCurrent: !isBulk.value },
            { href: pathOf('connect', {}, { bulk: '1' }), label: t('many'), isCurrent: isBulk.value },
          ]}
        />
      )}
      {isBulk.value && device === undefined ? (
        <BulkRegister />
      ) : device === undefined ? (
        <section class="card" aria-label={t('one')}>
          <RegisterForm onRegistered={setDevice} />
        </section>
      ) : (
        <RegisteredDevice device={device} onNext={() => setDevice(undefined)} />
      )}
    </Page>
  )
}

interface RegisteredDeviceProps {
  readonly device: RegistrationReply
  readonly onNext: () => void
}

function RegisteredDevice({ device, onNext }: RegisteredDeviceProps) {
  const { device_id: deviceId, mqtt_endpoint: endpoint, created_at: registeredAt } = device
  const [token, setToken] = useState<string | undefined>(device.access_token)
  return (
    <div class="connect">
      <div class="stack">
        <TokenPanel deviceId={deviceId} token={token} onToken={setToken} />
        <Programs on="connect" {...{ endpoint, deviceId, token }} />
      </div>
      <div class="stack connect-side">
        <p role="status">
          <strong>{t('registered', { id: deviceId })}</strong>
        </p>
        <Ladder deviceId={deviceId} registeredAt={registeredAt} endpoint={endpoint} />
        <p class="row">
          <a class="button button-primary" href={pathOf('device', { device_id: deviceId })}>
            {t('open')}
          </a>
          <Button onClick={onNext}>{t('next')}</Button>
        </p>
      </div>
    </div>
  )
}
