// Which tests run how. The folder decides; a file `*.integration.test.ts` is an integration test anywhere.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const TESTS = '!(*.integration).test.{ts,mjs}'
/** No native modules, no sockets, no child processes: they may share a process and should take milliseconds. */
const UNIT = [
  `schemas/**/${TESTS}`,
  `engine/{domain,ports,sim,edge}/**/${TESTS}`,
  `api/dashboard/app/**/${TESTS}`,
  'engine/adapters/**/memory.test.ts',
  `bench/{micro,measure}/**/${TESTS}`,
  `api/blackbox/chaos/**/${TESTS}`,
  `deploy/dev/architecture/${TESTS}`,
  'deploy/pages.test.ts',
  `deploy/!(dev)/**/${TESTS}`,
]
const NEVER = ['**/node_modules/**', 'dist/**', 'data/**']
/** These are about the embedded profile's own broker, ports, data directory and database, which a cluster does not have. */
const EMBEDDED_ONLY = [
  'api/blackbox/{mqtt-refusals,slow-clients,tls,start-and-stop,full-disk,power-cut,frozen-database,secrets}.integration.test.ts',
]
const ELSEWHERE = process.env['TEST_PROFILE'] === 'cluster' ? EMBEDDED_ONLY : []
/** The quick ones, with something of every part. Of others: TEST_PROFILE=cluster, and `--project integration`. */
const CLUSTER = [
  'api/blackbox/{first-steps,commands,cli-debugging,shadow,gateway,presence,accounts,live,history,http,device-tokens}.integration.test.ts',
]
/** Images of a cluster are in S3. */
const CLUSTER_FIRMWARE =
  process.env['TEST_SERVER_VERSITYGW'] === undefined ? [] : ['api/blackbox/firmware.integration.test.ts']
/** Without one of them there is no cluster; `npm test` says which was not found. */
const SERVERS = ['TEST_SERVER_NATS_SERVER', 'TEST_SERVER_REDIS_SERVER', 'TEST_SERVER_MOSQUITTO']
const HAS_SERVERS = SERVERS.every((name) => process.env[name] !== undefined)
/** Files share the workers, each of which loads the product once. No module has state, so they do not see each other. */
const SHARED = {
  isolate: false,
  // Deadlines are for what never happens: a machine that is busy with other work makes a suite slow, not red.
  testTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
} as const
/** lmdb, argon2 and process signals do not work in worker threads. */
const PROCESSES = { ...SHARED, pool: 'forks', hookTimeout: 480_000 } as const

/** Small files that take a minute and more. Begun last, as small files are, one of them would run alone at the end. */
const LONG =
  /many-(seeds|rollouts)|contract\/contract\.test|chaos\.integration|blackbox\/(contract|docs)\.integration|(german|states)\.browser/

/** A file that uses the service which the files of a worker share, and which ends when the next file does not. */
const SHARING = "from './testing/shared-service.ts'"

/** The long files first; then the files of each project, beginning with those that share a service. */
class LongAndSharingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification) => {
      if (LONG.test(moduleId)) return ''
      return `${project.name} ${readFileSync(moduleId, 'utf8').includes(SHARING) ? 1 : 2}`
    }
    const ranked = (await super.sort(files)).map((file) => ({ file, rank: rankOf(file) }))
    return ranked.sort((a, b) => a.rank.localeCompare(b.rank)).map(({ file }) => file)
  }
}

// A config file is read by the tool as its default export.
export default defineConfig({
  test: {
    // A third of the time of a test is waiting for real servers, so two cores have work for three.
    maxWorkers: 3,
    sequence: { sequencer: LongAndSharingFirst },
    projects: [
      // Milliseconds, but for the models with their hundreds of runs, which a busy machine stretches.
      { test: { ...SHARED, name: 'unit', pool: 'threads', include: UNIT, exclude: NEVER } },
      {
        test: {
          ...PROCESSES,
          name: 'integration',
          include: ['**/*.test.{ts,mjs}'],
          exclude: [...NEVER, ...UNIT, ...ELSEWHERE],
        },
      },
      // What `integration` runs with the embedded profile, again.
      ...(HAS_SERVERS
        ? [
            {
              test: {
                ...PROCESSES,
                name: 'cluster',
                include: [...CLUSTER, ...CLUSTER_FIRMWARE],
                env: { TEST_PROFILE: 'cluster' },
              },
            },
          ]
        : []),
    ],
  },
})
