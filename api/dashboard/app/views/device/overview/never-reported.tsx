// What stands in place of the values of a device that has never reported: how it connects, and how far it is.
import { useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../../schemas/device.ts'
import { may } from '../../../data/access.ts'
import { useAnswer } from '../../../data/answers.ts'
import { Empty } from '../../../parts/empty.tsx'
import { words } from '../../../words/words.ts'
import '../../connect/connect.css'
import { Ladder } from '../../connect/ladder.tsx'
import { Programs } from '../../connect/programs.tsx'
import { TokenPanel } from '../../connect/token-panel.tsx'

const t = words({
  none: ['This device has not reported anything yet', 'Dieses Gerät hat noch nichts gemeldet'],
  how: [
    'Run one of these programs on it and replace $TOKEN with its token.',
    'Führen Sie eines dieser Programme auf ihm aus, mit seinem Token an der Stelle von $TOKEN.',
  ],
  ask: ['An admin issues tokens.', 'Tokens stellt ein Admin aus.'],
})

export function NeverReported({ device }: { readonly device: DeviceBody }) {
  const { device_id: deviceId, created_at: registeredAt } = device
  const [token, setToken] = useState<string | undefined>(undefined)
  const service = useAnswer('readyz', { query: { verbose: '' } }).data
  const endpoint = service?.mqtt_url ?? `mqtt://${location.hostname}:1883`
  const mayIssue = may('issueDeviceToken')
  return (
    <div class="stack">
      <Empty title={t('none')}>
        <p>
          {t('how')} {!mayIssue && t('ask')}
        </p>
      </Empty>
      <Ladder {...{ deviceId, registeredAt, endpoint }} />
      {mayIssue && <TokenPanel deviceId={deviceId} token={token} onToken={setToken} />}
      <Programs on="device" endpoint={endpoint} deviceId={deviceId} token={token} />
    </div>
  )
}
