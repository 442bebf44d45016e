// The buttons of changes to the selected devices.
import { useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { BulkDialog, type BulkKind } from './bulk-dialog.tsx'
import { t } from './bulk-words.ts'

const KINDS = ['tag', 'move', 'maintain', 'release'] as const satisfies readonly BulkKind[]
/** The service takes no more in one call. */
const DEVICES_MAX = 10_000
/** Their ids stand in the address of the form. */
const COMMAND_DEVICES_MAX = 200

export function BulkActions({ ids }: { readonly ids: readonly string[] }) {
  const [kind, setKind] = useState<BulkKind | undefined>(undefined)
  const isTooMany = ids.length > DEVICES_MAX
  const because = !may('bulkEditDevices')
    ? t('admin')
    : isTooMany
      ? t('bound', { n: DEVICES_MAX })
      : undefined
  const commandBecause = !may('broadcastCommand')
    ? t('operator')
    : ids.length > COMMAND_DEVICES_MAX
      ? t('bound', { n: COMMAND_DEVICES_MAX })
      : undefined
  return (
    <>
      {KINDS.map((each) => (
        <Button key={each} disabledBecause={because} onClick={() => setKind(each)}>
          {t(each)}
        </Button>
      ))}
      <Button
        icon="send"
        disabledBecause={commandBecause}
        onClick={() => navigate(pathOf('compose', {}, { target: 'devices', which: ids.join(',') }))}
      >
        {t('command')}
      </Button>
      {kind !== undefined && <BulkDialog kind={kind} ids={ids} onClose={() => setKind(undefined)} />}
    </>
  )
}
