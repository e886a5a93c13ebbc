//! Answers that may be reused for the time that each of them states.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;

use crate::answer::Answer;
use crate::elapsed;
use crate::error::Error;
use crate::question::Question;
use crate::v1;

const CACHE_MAX: usize = 1_000;
/// Longest question whose answer is kept, in bytes.
const QUESTION_BYTES_MAX: usize = 16 << 10;

/// By the whole question, so that no question gets the answer to another one.
#[derive(Default)]
pub(crate) struct AnswerCache {
    answers: Mutex<HashMap<Vec<u8>, Cached>>,
}

struct Cached {
    response: Arc<v1::CheckResponse>,
    until: i64,
}

impl AnswerCache {
    pub(crate) async fn answer<F>(
        &self,
        question: &Question<'_>,
        ask: impl FnOnce(v1::CheckRequest) -> F,
    ) -> Result<Answer, Error>
    where
        F: Future<Output = Result<v1::CheckResponse, Error>>,
    {
        // The time counts from the question on: how old an answer is when it arrives is not known.
        let request = question.message();
        let (key, asked) = (request.encode_to_vec(), elapsed::now());
        if let Some(response) = self.find(&key, asked) {
            return Ok(Answer::of_shared(response, question));
        }
        let answer = Answer::of(ask(request).await?, question);
        let until = asked.saturating_add(i64::try_from(answer.cache_for().as_nanos()).unwrap_or(i64::MAX));
        if let Some(response) = answer.shared_response()
            && until > asked
            && key.len() <= QUESTION_BYTES_MAX
        {
            self.keep(key, Cached { response: response.clone(), until });
        }
        Ok(answer)
    }

    fn find(&self, key: &[u8], now: i64) -> Option<Arc<v1::CheckResponse>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(key).filter(|known| now < known.until).map(|known| known.response.clone())
    }

    fn keep(&self, key: Vec<u8>, cached: Cached) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= CACHE_MAX {
            answers.clear();
        }
        answers.insert(key, cached);
    }
}
