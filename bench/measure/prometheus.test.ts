import { expect, test } from 'vitest'
import { byLabel } from './prometheus.ts'

const text = `# HELP a_total x
# TYPE a_total counter
a_total{stage="parse",shard="0"} 1.5
a_total{stage="parse",shard="1"} 2
a_total{shard="0",stage="insert"} 4
a_total_more 9
plain 7
`

test('a metric is split by a label at any place', () => {
  expect([...byLabel(text, 'a_total', 'stage')]).toEqual([
    ['parse', 3.5],
    ['insert', 4],
  ])
  expect(byLabel(text, 'absent', 'stage')).toEqual(new Map())
})
