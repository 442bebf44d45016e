import type { DeploymentStatus } from '../../../../../schemas/vocabulary.ts'
import { words } from '../../words/words.ts'

/** A rollout that is pending waits, and one that is completed will not go on. */
const statuses = words({
  pending: ['waiting', 'wartet'],
  completed: ['completed', 'abgeschlossen'],
})

export const deploymentStatusWord = (status: DeploymentStatus) => statuses(status)
