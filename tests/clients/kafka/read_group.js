// Reads so many records of a topic as a member of a group, prints their values and commits: for demo.sh.
// argv: the broker's address, the topic, the group, the count.
'use strict';
const {Kafka, logLevel} = require('kafkajs');

async function main(address, topic, groupId, count) {
  const kafka = new Kafka({brokers: [address], logLevel: logLevel.NOTHING});
  const consumer = kafka.consumer({groupId});
  await consumer.connect();
  await consumer.subscribe({topics: [topic], fromBeginning: true});
  let left = Number(count);
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({payload}) => reject(payload.error));
    consumer.run({
      eachMessage: async ({message}) => {
        console.log(String(message.value));
        if (--left === 0) resolve();
      },
    }).catch(reject);
  });
  await consumer.disconnect();
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(`kafkajs: ${error.message}`);
  process.exit(1);
});
