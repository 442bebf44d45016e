// What can be done to a device from anywhere on its page.
import type { Signal } from '@preact/signals'
import type { DeviceBody } from '../../../../../schemas/device.ts'
import { pathOf } from '../../address/routes.ts'
import { may, roleFor } from '../../data/access.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'
import { MoreMenu } from './more-menu.tsx'

const t = words({
  started: [
    'Maintenance started: commands wait, and alerts are held.',
    'Die Wartung läuft: Befehle warten, und Alarme werden zurückgehalten.',
  ],
  ended: ['Maintenance ended.', 'Die Wartung ist beendet.'],
  needs: ['This needs the role {role}.', 'Dafür braucht es die Rolle {role}.'],
  gone: ['This device is decommissioned.', 'Dieses Gerät ist ausgemustert.'],
  never: [
    'The device has never connected; maintenance can start once it has.',
    'Es war noch nie verbunden; Wartung ist erst danach möglich.',
  ],
  token: ['Token…', 'Token…'],
  failed: ['Maintenance was not changed.', 'Die Wartung wurde nicht geändert.'],
})

export interface Maintenance {
  readonly isOn: boolean
  readonly isUnderWay: Signal<boolean>
  readonly error: unknown
  /** Undefined if it may not be changed. */
  readonly run: (() => void) | undefined
}

export function useMaintenance({ device_id: deviceId, status }: DeviceBody): Maintenance {
  const isOn = status === 'maintenance'
  const change = async (to: 'maintenance' | 'online') => {
    await fleet.editDevice({ device_id: deviceId, body: { status: to } })
    refreshAnswers('getDevice')
  }
  const write = useWrite(change)
  const run = async () => {
    const isDone = await write.run(isOn ? 'online' : 'maintenance')
    if (isDone)
      toast({
        text: isOn ? t('ended') : t('started'),
        undo: () => void write.run(isOn ? 'maintenance' : 'online'),
      })
    else toast({ text: t('failed'), isFailure: true })
  }
  const isAllowed = may('editDevice') && status !== 'decommissioned' && status !== 'provisioning'
  return {
    isOn,
    isUnderWay: write.isUnderWay,
    error: write.error.value,
    run: isAllowed ? () => void run() : undefined,
  }
}

export interface DeviceActionsProps {
  readonly device: DeviceBody
  readonly maintenance: Maintenance
}

export function DeviceActions({ device, maintenance }: DeviceActionsProps) {
  const isGone = device.status === 'decommissioned'
  const because = (id: 'editDevice' | 'sendCommand') =>
    isGone ? t('gone') : may(id) ? undefined : t('needs', { role: roleFor(id) ?? '' })
  return (
    <>
      {maintenance.error !== undefined && <ProblemCard error={maintenance.error} />}
      {may('sendCommand') && (
        <Button
          icon="send"
          kind="primary"
          shortcut="c"
          disabledBecause={because('sendCommand')}
          onClick={() => navigate(pathOf('deviceTab', { device_id: device.device_id, tab: 'commands' }))}
        >
          {t('command')}
        </Button>
      )}
      <Button
        icon="wrench"
        shortcut="m"
        write={maintenance}
        disabledBecause={because('editDevice') ?? (device.status === 'provisioning' ? t('never') : undefined)}
        onClick={maintenance.run ?? (() => undefined)}
      >
        {maintenance.isOn ? t('endMaintenance') : t('startMaintenance')}
      </Button>
      {may('issueDeviceToken') && !isGone && (
        <a class="button" href={pathOf('deviceTab', { device_id: device.device_id, tab: 'settings' })}>
          <Icon name="key-round" /> {t('token')}
        </a>
      )}
      <MoreMenu device={device} />
    </>
  )
}
