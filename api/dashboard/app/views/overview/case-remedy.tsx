// The one button of a case that does something about it at once. What can be taken back is done, with Undo; the rest is
// looked at first (D6).
import { errorText } from '../../../../../schemas/error-text.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { later } from '../../parts/later.tsx'
import { toast } from '../../parts/toasts.tsx'
import type { Remedy } from './more-cases.ts'
import { t } from './overview-words.ts'

const AlertActionDialog = later(async () => (await import('../alerts/action-dialog.tsx')).AlertActionDialog)
const ReplayLetters = later(async () => (await import('../system/letter-actions.tsx')).ReplayLetters)

const LOOKS = {
  ack: { icon: 'check', operation: 'ackAlert' },
  pause: { icon: 'pause', operation: 'pauseDeployment' },
  replay: { icon: 'rotate-ccw', operation: 'replayDeadLetters' },
} as const

export interface CaseRemedyProps {
  readonly remedy: Remedy
  readonly sentence: string
  /** It has to be looked at first. */
  readonly onAsk: (remedy: Remedy) => void
}

export function CaseRemedy({ remedy, sentence, onAsk }: CaseRemedyProps) {
  const pause = usePause()
  const { icon, operation } = LOOKS[remedy.kind]
  if (!may(operation)) return null
  return (
    <Button
      kind="quiet"
      icon={icon}
      write={pause}
      label={t(remedy.kind, { name: sentence })}
      onClick={() => {
        if (remedy.kind === 'pause') void pause.run(remedy.deploymentId)
        else onAsk(remedy)
      }}
    />
  )
}

/** The look before it. It stays open when the case goes meanwhile. */
export function RemedyDialog({ remedy, onClose }: { readonly remedy: Remedy; readonly onClose: () => void }) {
  if (remedy.kind === 'replay') return <ReplayLetters reason={remedy.reason} onClose={onClose} />
  if (remedy.kind === 'pause') return null
  return (
    <AlertActionDialog
      action="ack"
      alertIds={remedy.alertIds}
      onClose={(isDone) => {
        onClose()
        if (isDone) refreshAnswers('listAlerts')
      }}
    />
  )
}

function usePause() {
  const change = async (deployment_id: string, call: 'pauseDeployment' | 'resumeDeployment') => {
    await fleet[call]({ deployment_id })
    refreshAnswers('listDeployments')
  }
  const write = useWrite(change)
  const run = async (deploymentId: string) => {
    if (await write.run(deploymentId, 'pauseDeployment'))
      toast({ text: t('paused'), undo: () => change(deploymentId, 'resumeDeployment') })
    else toast({ text: t('notPaused', { reason: errorText(write.error.peek()) }), isFailure: true })
  }
  return { isUnderWay: write.isUnderWay, run }
}
