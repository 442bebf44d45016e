// What can be done to a device from anywhere on its page.
import type { DeviceBody } from '../../../../../schemas/device.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type Maintenance, MaintenanceButton } from '../../parts/maintenance.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { words } from '../../words/words.ts'
import { MoreMenu } from './more-menu.tsx'

const t = words({
  gone: ['This device is decommissioned.', 'Dieses Gerät ist ausgemustert.'],
  token: ['Token…', 'Token…'],
})

export interface DeviceActionsProps {
  readonly device: DeviceBody
  readonly maintenance: Maintenance
}

export function DeviceActions({ device, maintenance }: DeviceActionsProps) {
  const isGone = device.status === 'decommissioned'
  return (
    <>
      {maintenance.error !== undefined && <ProblemCard error={maintenance.error} />}
      {may('sendCommand') && (
        <Button
          icon="send"
          kind="primary"
          shortcut="c"
          disabledBecause={isGone ? t('gone') : undefined}
          onClick={() => navigate(pathOf('deviceTab', { device_id: device.device_id, tab: 'commands' }))}
        >
          {t('command')}
        </Button>
      )}
      <MaintenanceButton of={maintenance} shortcut="m" />
      {may('issueDeviceToken') && !isGone && (
        <a class="button" href={pathOf('deviceTab', { device_id: device.device_id, tab: 'settings' })}>
          <Icon name="key-round" /> {t('token')}
        </a>
      )}
      <MoreMenu device={device} />
    </>
  )
}
