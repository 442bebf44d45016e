// One device: its header, which stays while tabs change, and the tab of the address.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { DeviceBody } from '../../../../../schemas/device.ts'
import type { Params } from '../../address/routes.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { RefusalError } from '../../data/client.ts'
import { nearDevices } from '../../fleet/near-devices.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { useWatch } from '../../live/live.ts'
import { useStill } from '../../live/still.ts'
import { neighbourOf } from '../../navigation/device-list.ts'
import { navigate } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Empty } from '../../parts/empty.tsx'
import { useMaintenance } from '../../parts/maintenance.tsx'
import { Page } from '../../parts/page.tsx'
import { PageNotFound } from '../../parts/page-not-found.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { words } from '../../words/words.ts'
import './device.css'
import { DeviceActions } from './device-actions.tsx'
import { DeviceFacts } from './device-facts.tsx'
import { DEVICE_TABS } from './device-tabs.tsx'
import { isTab, TABS, type TabName } from './tabs.ts'

const t = words({
  lost: ['Device not found', 'Dieses Gerät gibt es nicht'],
  orOutside: [
    'There is no device {id}, or it is outside your groups.',
    'Es gibt kein Gerät {id}, oder es liegt außerhalb Ihrer Gruppen.',
  ],
  toDevices: ['All devices', 'Alle Geräte'],
  near: ['Did you mean one of these?', 'Meinten Sie eines von diesen?'],
  tabs: ['Device sections', 'Teile des Geräts'],
  shadow: ['Shadow', 'Shadow'],
  settings: ['Settings', 'Einstellungen'],
  gone: [
    'This device is decommissioned. Its data can be read, but nothing can be changed.',
    'Dieses Gerät ist ausgemustert. Was es gemeldet hat, ist lesbar; ändern lässt sich nichts.',
  ],
  before: ['Previous device', 'Voriges Gerät'],
  after: ['Next device', 'Nächstes Gerät'],
  maintain: ['Maintenance on or off', 'Wartung an oder aus'],
})

export default function Device({ params }: { readonly params: Params }) {
  const deviceId = params['device_id'] ?? ''
  const tab = params['tab'] ?? 'overview'
  const answer = useAnswer('getDevice', { device_id: deviceId })
  const live = useLiveDevice(deviceId)
  const device = newest(answer.data, live)
  if (!isTab(tab)) return <PageNotFound />
  if (device === undefined && answer.error instanceof RefusalError && answer.error.status === 404)
    return <Lost deviceId={deviceId} />
  return device === undefined ? (
    <Page title={deviceId}>
      <AnswerArea answer={answer}>{() => null}</AnswerArea>
    </Page>
  ) : (
    <Known device={device} tab={tab} />
  )
}

function Known({ device, tab }: { readonly device: DeviceBody; readonly tab: TabName }) {
  const { device_id: deviceId } = device
  const maintenance = useMaintenance(device)
  const Tab = DEVICE_TABS[tab]
  const to = (name: TabName, id = deviceId) =>
    name === 'overview'
      ? pathOf('device', { device_id: id })
      : pathOf('deviceTab', { device_id: id, tab: name })
  const walk = (step: -1 | 1) => {
    const other = neighbourOf(deviceId, step, columns.ids)
    if (other !== undefined) navigate(to(tab, other))
  }
  useShortcuts([
    { keys: '[', label: t('before'), run: () => walk(-1) },
    { keys: ']', label: t('after'), run: () => walk(1) },
    ...(may('sendCommand')
      ? [{ keys: 'c', label: t('sendCommand'), run: () => navigate(to('commands')) }]
      : []),
    ...(maintenance.disabledBecause !== undefined
      ? []
      : [{ keys: 'm', label: t('maintain'), run: maintenance.run }]),
  ])
  const tabs = TABS.filter((name) => name !== 'commands' || may('sendCommand'))
  return (
    <Page
      title={plainText(device.name)}
      mark={<StatusMark status={device.status} />}
      actions={<DeviceActions device={device} maintenance={maintenance} />}
    >
      {device.status === 'decommissioned' && <p class="banner">{t('gone')}</p>}
      <DeviceFacts device={device} />
      <Tabs
        label={t('tabs')}
        tabs={tabs.map((name) => ({ href: to(name), label: t(name), isCurrent: name === tab }))}
      />
      <Tab key={tab} device={device} />
    </Page>
  )
}

/** The newest the socket told of the device. */
function useLiveDevice(deviceId: string): DeviceBody | undefined {
  const [device, setDevice] = useState<DeviceBody | undefined>(undefined)
  useEffect(() => setDevice(undefined), [deviceId])
  useWatch({ channel: 'devices', filter: { device_id: deviceId }, throttle_ms: 500 }, ({ events }) => {
    const last = events.at(-1)
    // Events of this channel have the device as their data.
    if (last !== undefined) setDevice(last.data as DeviceBody)
  })
  return useStill(device)
}

/** An answer to a write is newer than the socket for a moment, so the later change counts. */
function newest(answer: DeviceBody | undefined, live: DeviceBody | undefined): DeviceBody | undefined {
  if (answer === undefined || live === undefined) return live ?? answer
  return Date.parse(answer.updated_at) > Date.parse(live.updated_at) ? answer : live
}

const NEAR_MAX = 5

function Lost({ deviceId }: { readonly deviceId: string }) {
  const devicesCount = fleetVersion.value === 0 ? 0 : columns.rowsCount
  // Many ids take long to compare, so each change of a device must not compare them again.
  const near = useMemo(() => nearDevices(deviceId, columns, NEAR_MAX), [deviceId, devicesCount])
  return (
    <Page title={t('lost')}>
      <Empty title={t('orOutside', { id: plainText(deviceId) })}>
        {near.length > 0 && (
          <>
            <p>{t('near')}</p>
            <ul class="row">
              {near.map((id) => (
                <li key={id}>
                  <a class="button" href={pathOf('device', { device_id: id })}>
                    {id}
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
        <a href={pathOf('devices')}>{t('toDevices')}</a>
      </Empty>
    </Page>
  )
}
