import { useAnswer } from '../../data/answers.ts'
import { addressWith } from '../../navigation/navigation.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { number, words } from '../../words/words.ts'

const t = words({
  firing: ['Firing', 'Offen'],
  acknowledged: ['Acknowledged', 'Bestätigt'],
  pending: ['Pending', 'Bald'],
  resolved: ['Resolved', 'Geschlossen'],
})

/** The states as tabs. Whoever looks for something looks for it in each of them, so the filters stay. */
export function StateTabs<State extends 'firing' | 'acknowledged' | 'snoozed' | 'pending' | 'resolved'>({
  states,
  current,
}: {
  readonly states: readonly State[]
  readonly current: State
}) {
  const { data } = useAnswer('getAlertSummary', {})
  const { critical = 0, warning = 0, info = 0 } = data?.by_state.pending ?? {}
  const pending = critical + warning + info
  return (
    <Tabs
      label={t('state')}
      tabs={states.map((state) => ({
        href: addressWith({ state: state === 'firing' ? undefined : state }),
        label: state === 'pending' && pending > 0 ? `${t(state)} (${number(pending)})` : t(state),
        isCurrent: state === current,
      }))}
    />
  )
}
