// Groups of alerts, a row each: how many, of what, where, since when, and the way to them.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { Age } from '../../parts/age.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { SeverityMark } from '../../parts/severity-mark.tsx'
import { words } from '../../words/words.ts'
import { type AlertGroup, type Grouping, groupAlerts } from './alert-groups.ts'

const t = words({
  groups: ['Groups of alerts', 'Gruppen von Alarmen'],
  severity: ['Severity', 'Schlimmster'],
  first: ['First', 'Der erste'],
  rules: ['{n} rule | {n} rules', '{n} Regel | {n} Regeln'],
  bounded: [
    'The first {n} of {total} alerts are grouped.',
    'Die ersten {n} von {total} Alarmen sind gruppiert.',
  ],
})

type Alert = ReplyOf<Operations['listAlerts']>['data'][number]

export interface GroupRowsProps {
  readonly by: Exclude<Grouping, 'none'>
  readonly alerts: readonly Alert[]
  readonly total: number
  readonly state: string | undefined
  /** The chosen alerts; undefined where nothing can be done to them. */
  readonly selection:
    | { readonly ids: ReadonlySet<string>; onChange(ids: ReadonlySet<string>): void }
    | undefined
}

export function GroupRows({ by, alerts, total, state, selection }: GroupRowsProps) {
  const groups = groupAlerts(alerts, by)
  const idsOf = (keys: ReadonlySet<string>) =>
    new Set(groups.filter(({ key }) => keys.has(key)).flatMap(({ ids }) => ids))
  const chosen = selection && {
    ids: new Set(
      groups
        .filter(({ ids }) => ids.length > 0 && ids.every((id) => selection.ids.has(id)))
        .map(({ key }) => key),
    ),
    onChange: (keys: ReadonlySet<string>) => selection.onChange(idsOf(keys)),
  }
  return (
    <>
      {alerts.length < total && <p class="muted">{t('bounded', { n: alerts.length, total })}</p>}
      <DataTable
        caption={t('groups')}
        rows={groups}
        idOf={({ key }) => key}
        selection={chosen}
        columns={[
          { name: t('severity'), cell: ({ severity }) => <SeverityMark severity={severity} /> },
          { name: t('what'), cell: (group) => <GroupName group={group} by={by} state={state} /> },
          { name: t('alerts'), isNumber: true, cell: (group) => group.alerts.length },
          { name: t('devices'), isNumber: true, cell: ({ deviceCount }) => deviceCount },
          { name: t('first'), cell: ({ firstAt }) => <Age at={firstAt} /> },
        ]}
      />
    </>
  )
}

interface GroupNameProps {
  readonly group: AlertGroup<Alert>
  readonly by: GroupRowsProps['by']
  readonly state: string | undefined
}

function GroupName({ group, by, state }: GroupNameProps) {
  const { key, ruleNames, alerts } = group
  const [ruleName = ''] = ruleNames
  const rules = ruleNames.length === 1 ? plainText(ruleName) : t('rules', { n: ruleNames.length })
  const places = [...new Set(alerts.map(({ group: name }) => name ?? t('withoutGroup')))]
  const query = {
    storm: { storm: key },
    rule: { rule: key },
    group: { group: key },
    device: { device: key },
  }[by]
  const name = {
    storm: rules,
    rule: rules,
    group: key === '' ? t('withoutGroup') : plainText(key),
    device: key === '' ? t('wholeFleet') : plainText(key),
  }[by]
  const more =
    by === 'group' || by === 'device' ? rules : places.slice(0, PLACES_MAX).map(plainText).join(', ')
  return (
    <>
      {key === '' ? name : <a href={pathOf('alerts', {}, { state, ...query })}>{name}</a>}
      <span class="table-more">{places.length > PLACES_MAX ? `${more} …` : more}</span>
    </>
  )
}

const PLACES_MAX = 3
