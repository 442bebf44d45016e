// What is hard to take back: tokens of the device, and its end.
import { useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import { refreshAnswers } from '../../../data/answers.ts'
import { fleet } from '../../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../../data/writes.ts'
import { Button } from '../../../parts/button.tsx'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { CopyField } from '../../../parts/copy-field.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { instant } from '../../../words/time.ts'
import { words } from '../../../words/words.ts'

const t = words({
  tokens: ['Tokens', 'Tokens'],
  what: [
    "The token is the device's MQTT password. It is shown only once.",
    'Das Token ist das MQTT-Passwort des Geräts. Es wird einmal gezeigt, hier.',
  ],
  token: ['Token of the device', 'Token des Geräts'],
  until: ['Expires {time}.', 'Es endet {time}.'],
  hide: ['Hide', 'Ausblenden'],
  revoke: ['Revoke all tokens…', 'Alle Tokens sperren…'],
  revokeDo: ['Revoke all tokens of {id}', 'Alle Tokens von {id} sperren'],
  revokeText: [
    'All tokens of the device become invalid and it is disconnected within two seconds. It needs a new token to reconnect.',
    'Jedes Token des Geräts wird ungültig und seine Verbindung endet binnen zwei Sekunden. Es braucht ein neues, um zurückzukehren.',
  ],
  revoked: ['All tokens of {id} are revoked.', 'Alle Tokens von {id} sind ungültig.'],
  end: ['Decommission', 'Ausmustern'],
  endWhat: [
    'The device can never connect again, open commands are cancelled and its tokens become invalid. Its data stays.',
    'Das Gerät kann sich nie wieder verbinden, offene Befehle werden abgebrochen und seine Tokens ungültig. Was es gemeldet hat, bleibt.',
  ],
  endAsk: ['Decommission…', 'Ausmustern…'],
  endDo: ['Decommission {id}', '{id} ausmustern'],
})

export function DeviceTokens({ deviceId }: { readonly deviceId: string }) {
  const [issued, setIssued] = useState<{ readonly token: string; readonly until: string } | undefined>()
  const issue = useWrite(async () => {
    const { mqtt_token: token, expires_at: until } = await fleet.issueDeviceToken({
      body: { device_id: deviceId },
      idempotencyKey: newIdempotencyKey(),
    })
    setIssued({ token, until })
  })
  return (
    <section class="card">
      <h2>{t('tokens')}</h2>
      <p class="hint">{t('what')}</p>
      {issued !== undefined && (
        <>
          <CopyField isSecret label={t('token')} text={issued.token} />
          <p class="row hint">
            {t('until', { time: instant(Date.parse(issued.until)) })}
            <Button kind="quiet" icon="eye-off" onClick={() => setIssued(undefined)}>
              {t('hide')}
            </Button>
          </p>
        </>
      )}
      <ProblemCard error={issue.error.value} />
      <div class="row">
        <Button icon="key-round" write={issue} onClick={() => void issue.run()}>
          {t('issueToken')}
        </Button>
        <ConfirmButton
          kind="danger"
          name={t('revoke')}
          action={t('revokeDo', { id: deviceId })}
          onConfirm={async () => {
            await fleet.revokeDeviceTokens({ device_id: deviceId })
            toast({ text: t('revoked', { id: deviceId }) })
          }}
        >
          <p>{t('revokeText')}</p>
        </ConfirmButton>
      </div>
    </section>
  )
}

export function Decommission({ device }: { readonly device: DeviceBody }) {
  const { device_id: id } = device
  return (
    <section class="card">
      <h2>{t('end')}</h2>
      <p class="hint">{t('endWhat')}</p>
      <div class="row">
        <ConfirmButton
          kind="danger"
          icon="trash-2"
          name={t('endAsk')}
          action={t('endDo', { id })}
          typed={id}
          onConfirm={async () => {
            await fleet.decommissionDevice({ device_id: id, ifMatch: device.etag })
            refreshAnswers('getDevice')
          }}
        >
          <p>{t('endWhat')}</p>
        </ConfirmButton>
      </div>
    </section>
  )
}
