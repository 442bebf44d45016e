import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/empty.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { words } from '../../words/words.ts'

const t = words({
  title: ['Devices waiting for approval', 'Geräte, die warten'],
  since: ['Asked', 'Gefragt'],
  approve: ['Approve', 'Zulassen'],
  reject: ['Reject', 'Abweisen'],
  approved: [
    'approved; the device is registered on its next request',
    'zugelassen; angemeldet, sobald es wieder fragt',
  ],
  nobody: ['No devices waiting', 'Kein Gerät wartet'],
  compare: [
    'Approval is per device id: compare the address and time with what you expect.',
    'Eine Zulassung gilt einer Kennung: Vergleichen Sie Adresse und Zeit mit dem, was Sie wissen.',
  ],
})

type Claim = ReplyOf<Operations['getProvisioningKey']>['waiting'][number]

export interface WaitingDevicesProps {
  readonly of: { readonly id: string; readonly name: string }
  readonly onClose: () => void
}

/** The devices that have a place of a provisioning key and are not registered yet. */
export function WaitingDevices({ of, onClose }: WaitingDevicesProps) {
  const provisioning_key_id = of.id
  const answer = useAnswer('getProvisioningKey', { provisioning_key_id })
  const decision = useWrite(async (decide: () => Promise<unknown>) => {
    await decide()
    refreshAnswers('getProvisioningKey', 'listProvisioningKeys')
  })
  const columns: readonly Column<Claim>[] = [
    { name: t('device'), cell: ({ device_id }) => device_id },
    { name: t('since'), cell: ({ requested_at }) => <Age at={requested_at} /> },
    { name: t('from'), cell: ({ ip }) => ip },
    {
      name: t('actions'),
      cell: ({ device_id: waiting_id, status }) => {
        if (status === 'approved') return t('approved')
        const claim = { provisioning_key_id, waiting_id }
        return (
          <>
            <Button onClick={() => void decision.run(() => fleet.approveProvisioning(claim))}>
              {t('approve')}
            </Button>{' '}
            <Button onClick={() => void decision.run(() => fleet.rejectProvisioning(claim))}>
              {t('reject')}
            </Button>
          </>
        )
      },
    },
  ]
  return (
    <Dialog title={plainText(of.name)} onClose={onClose} isWide>
      <p>{t('compare')}</p>
      <ProblemCard error={decision.error.value} />
      <AnswerArea answer={answer}>
        {({ waiting }) =>
          waiting.length === 0 ? (
            <Empty title={t('nobody')} />
          ) : (
            <DataTable
              caption={t('title')}
              columns={columns}
              rows={waiting}
              idOf={({ device_id }) => device_id}
            />
          )
        }
      </AnswerArea>
    </Dialog>
  )
}
