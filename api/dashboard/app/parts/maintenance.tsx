// Maintenance of a device, begun and ended at once and taken back with Undo (D6).
import type { Signal } from '@preact/signals'
import type { DeviceBody } from '../../../../schemas/device.ts'
import { may, roleFor } from '../data/access.ts'
import { refreshAnswers } from '../data/answers.ts'
import { fleet } from '../data/client.ts'
import { useWrite } from '../data/writes.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { toast } from './toasts.tsx'

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
  failed: ['Maintenance was not changed.', 'Die Wartung wurde nicht geändert.'],
})

export interface Maintenance {
  readonly isOn: boolean
  readonly isUnderWay: Signal<boolean>
  readonly error: unknown
  /** Why it cannot be changed. */
  readonly disabledBecause: string | undefined
  readonly run: () => void
}

type MaintainedDevice = Pick<DeviceBody, 'device_id' | 'status' | 'status_reason'>

export function useMaintenance({
  device_id: deviceId,
  status,
  status_reason,
}: MaintainedDevice): Maintenance {
  const isOn = status === 'maintenance'
  const reason = isOn && status_reason !== null ? { status_reason } : {}
  const change = async (to: 'maintenance' | 'online') => {
    const body = to === 'maintenance' ? { status: to, ...reason } : { status: to }
    await fleet.editDevice({ device_id: deviceId, body })
    refreshAnswers('getDevice', 'listDeviceEvents')
  }
  const write = useWrite(change)
  const run = async () => {
    const isDone = await write.run(isOn ? 'online' : 'maintenance')
    if (isDone)
      toast({
        text: isOn ? t('ended') : t('started'),
        // It comes back with the reason that it had.
        undo: () => change(isOn ? 'maintenance' : 'online'),
      })
    else toast({ text: t('failed'), isFailure: true })
  }
  return {
    isOn,
    isUnderWay: write.isUnderWay,
    error: write.error.value,
    disabledBecause: reasonAgainst(status),
    run: () => void run(),
  }
}

export function MaintenanceButton({
  of,
  shortcut,
}: {
  readonly of: Maintenance
  readonly shortcut?: string
}) {
  return (
    <Button
      icon="wrench"
      write={of}
      disabledBecause={of.disabledBecause}
      onClick={of.run}
      {...(shortcut === undefined ? {} : { shortcut })}
    >
      {of.isOn ? t('endMaintenance') : t('startMaintenance')}
    </Button>
  )
}

function reasonAgainst(status: DeviceBody['status']): string | undefined {
  if (status === 'decommissioned') return t('gone')
  if (!may('editDevice')) return t('needs', { role: roleFor('editDevice') ?? '' })
  return status === 'provisioning' ? t('never') : undefined
}
