// The rows of the inbox: an alert each, or a storm.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { Age } from '../../parts/age.tsx'
import { alertText, mutedText } from '../../parts/alert-text.ts'
import type { Column, Selection } from '../../parts/data-table.tsx'
import { personText } from '../../parts/person-text.ts'
import { plainText } from '../../parts/plain-text.ts'
import { SeverityMark } from '../../parts/severity-mark.tsx'
import { words } from '../../words/words.ts'
import type { InboxRow } from './alert-groups.ts'

const t = words({
  devices: ['{n} device | {n} devices', '{n} Gerät | {n} Geräte'],
  since: ['Fired', 'Ausgelöst'],
  owner: ['Assigned to', 'In Arbeit'],
  nobody: ['unassigned', 'niemand'],
  muted: ['not notified: {by}', 'nicht gemeldet: {by}'],
  storm: ['{n} alerts: {rule}', '{n} Alarme: {rule}'],
})

export type Alert = ReplyOf<Operations['listAlerts']>['data'][number]
type Row = InboxRow<Alert>

/** `state` is that of the inbox in its address. */
export const inboxColumns = (state: string | undefined): readonly Column<Row>[] => [
  {
    name: t('severity'),
    cell: ({ alert, storm }) => <SeverityMark severity={(storm ?? alert).severity} />,
  },
  {
    name: t('alert'),
    cell: ({ alert, storm }) =>
      storm === undefined ? <AlertName alert={alert} /> : <StormName storm={storm} state={state} />,
  },
  {
    name: t('device'),
    cell: ({ alert: { device_id }, storm }) =>
      storm === undefined
        ? device_id !== null && <a href={pathOf('device', { device_id })}>{device_id}</a>
        : t('devices', { n: storm.deviceCount }),
  },
  { name: t('group'), cell: (row) => groupsOf(row).join(', ') || '–' },
  {
    name: t('since'),
    cell: ({ alert: { fired_at, started_at }, storm }) => (
      <Age at={storm?.firstAt ?? fired_at ?? started_at} />
    ),
  },
  {
    name: t('times'),
    isNumber: true,
    cell: (row) => alertsOf(row).reduce((sum, { count }) => sum + count, 0),
  },
  { name: t('owner'), cell: (row) => ownersOf(row).join(', ') || <span class="muted">{t('nobody')}</span> },
]

export const rowId = ({ alert: { alert_id, rule_id, device_id }, storm }: Row) =>
  storm === undefined ? (alert_id ?? `${rule_id} ${device_id}`) : `storm ${storm.key}`

/** A row is chosen when all of its alerts are. What was chosen on other pages stays so. */
export function rowSelection(rows: readonly Row[], chosen: Selection): Selection {
  const idsOf = (row: Row) => alertsOf(row).flatMap(({ alert_id }) => alert_id ?? [])
  return {
    ids: new Set(rows.filter((row) => idsOf(row).every((id) => chosen.ids.has(id))).map(rowId)),
    onChange: (keys) => {
      const here = new Set(rows.flatMap(idsOf))
      const elsewhere = [...chosen.ids].filter((id) => !here.has(id))
      chosen.onChange(new Set([...elsewhere, ...rows.filter((row) => keys.has(rowId(row))).flatMap(idsOf)]))
    },
  }
}

const alertsOf = ({ alert, storm }: Row) => storm?.alerts ?? [alert]

const GROUPS_MAX = 3

function groupsOf(row: Row): readonly string[] {
  const all = [...new Set(alertsOf(row).flatMap(({ group }) => group ?? []))]
  return all.length > GROUPS_MAX ? [...all.slice(0, GROUPS_MAX), '…'] : all
}

const ownersOf = (row: Row) => [
  ...new Set(
    alertsOf(row).flatMap(({ assignee, acknowledged_by }) => {
      const owner = assignee ?? acknowledged_by
      return owner === null ? [] : personText(owner)
    }),
  ),
]

function StormName({
  storm: { key, alerts, ruleNames },
  state,
}: {
  readonly storm: NonNullable<Row['storm']>
  readonly state: string | undefined
}) {
  const rule = ruleNames.map(plainText).join(', ')
  return <a href={pathOf('alerts', {}, { state, storm: key })}>{t('storm', { n: alerts.length, rule })}</a>
}

function AlertName({ alert }: { readonly alert: Alert }) {
  const { alert_id, rule_name, suppressed_by } = alert
  return (
    <>
      {alert_id === null ? rule_name : <a href={pathOf('alert', { alert_id })}>{plainText(rule_name)}</a>}
      <span class="table-more">{alertText(alert)}</span>
      {suppressed_by.length > 0 && (
        <span class="table-more">{t('muted', { by: mutedText(suppressed_by) })}</span>
      )}
    </>
  )
}
