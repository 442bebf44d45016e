// The buttons of changes to the selected devices.
import { useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { BulkDialog, type BulkKind } from './bulk-dialog.tsx'
import { t } from './bulk-words.ts'

const KINDS = ['tag', 'move', 'maintain', 'release'] as const satisfies readonly BulkKind[]
/** The service takes no more in one call. */
const DEVICES_MAX = 10_000
/** Their ids stand in the address of the form. */
const ADDRESS_DEVICES_MAX = 200

export interface BulkActionsProps {
  readonly ids: readonly string[]
  /** The filter that fits just these; undefined if none does. */
  readonly filter: string | undefined
}

export function BulkActions({ ids, filter }: BulkActionsProps) {
  const [kind, setKind] = useState<BulkKind | undefined>(undefined)
  const isTooMany = ids.length > DEVICES_MAX
  const because = !may('bulkEditDevices')
    ? t('admin')
    : isTooMany
      ? t('bound', { n: DEVICES_MAX })
      : undefined
  const isLong = ids.length > ADDRESS_DEVICES_MAX
  const tooManyForAddress =
    isLong && filter === undefined ? t('boundOrFilter', { n: ADDRESS_DEVICES_MAX }) : undefined
  const asTarget =
    isLong && filter !== undefined
      ? { target: 'filter', which: filter }
      : { target: 'devices', which: ids.join(',') }
  const compose = () => navigate(pathOf('compose', {}, asTarget))
  const rollOut = () => navigate(pathOf('newRollout', {}, asTarget))
  // The palette offers them, too.
  useShortcuts([
    ...(because === undefined
      ? KINDS.map((each) => ({ keys: '', label: `${t(each)}…`, run: () => setKind(each) }))
      : []),
    ...(tooManyForAddress === undefined && may('broadcastCommand')
      ? [{ keys: '', label: `${t('sendCommand')}…`, run: compose }]
      : []),
    ...(tooManyForAddress === undefined && may('createDeployment')
      ? [{ keys: '', label: `${t('rollout')}…`, run: rollOut }]
      : []),
  ])
  return (
    <>
      {KINDS.map((each) => (
        <Button key={each} disabledBecause={because} onClick={() => setKind(each)}>
          {t(each)}
        </Button>
      ))}
      <Button
        icon="send"
        disabledBecause={may('broadcastCommand') ? tooManyForAddress : t('operator')}
        onClick={compose}
      >
        {t('sendCommand')}
      </Button>
      <Button
        icon="rocket"
        disabledBecause={may('createDeployment') ? tooManyForAddress : t('operator')}
        onClick={rollOut}
      >
        {t('rollout')}
      </Button>
      {kind !== undefined && <BulkDialog kind={kind} ids={ids} onClose={() => setKind(undefined)} />}
    </>
  )
}
