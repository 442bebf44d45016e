import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { number, words } from '../../words/words.ts'

const t = words({
  firing: ['Firing', 'Offen'],
  acknowledged: ['Acknowledged', 'Bestätigt'],
  pending: ['Pending', 'Bald'],
  resolved: ['Resolved', 'Geschlossen'],
})

/** The states as tabs. What fires counts critical ones first, as the tab of the browser would. */
export function StateTabs<State extends 'firing' | 'acknowledged' | 'snoozed' | 'pending' | 'resolved'>({
  states,
  current,
}: {
  readonly states: readonly State[]
  readonly current: State
}) {
  const { data } = useAnswer('getAlertSummary', {})
  const pending = data?.by_state.pending
  const sums = {
    pending: pending === undefined ? undefined : pending.critical + pending.warning + pending.info,
  }
  return (
    <Tabs
      label={t('state')}
      tabs={states.map((state) => {
        const n = state === 'pending' ? sums.pending : undefined
        return {
          href: pathOf('alerts', {}, { state: state === 'firing' ? undefined : state }),
          label: n === undefined || n === 0 ? t(state) : `${t(state)} (${number(n)})`,
          isCurrent: state === current,
        }
      })}
    />
  )
}
