"""What a model without a tool must not say: live facts, and things it claims to have done."""

import pytest

from skillkit.agent.models.unsupported import NOT_DONE, NOT_KNOWN, ClaimFilter, refusal


@pytest.mark.parametrize(
    "request_text",
    [
        "What's the weather in Oslo right now?",
        "How much is one bitcoin?",
        "What are today's headlines?",
        "Who won the match last night?",
        "What time is it in Tokyo?",
        "What is the share price of Apple?",
        "What's Acme's share price this very second?",
        "How is the traffic on the A9?",
        "How likely is a recession next year?",
        "How much is Tesla stock?",
        "what is the bitcoin price",
        "What are the odds of a draw in the derby?",
        "What are the chances that they flip the Senate?",
        "Wie ist das Wetter in Berlin?",
        "Quel temps fait-il à Lyon ?",
        "¿Qué tiempo hace en Sevilla?",
        "Wie stehen die Chancen, dass die Regierung hält?",
        "¿Cuál es la probabilidad de una recesión?",
    ],
)
def test_a_live_fact_is_not_known_without_a_tool(request_text: str) -> None:
    assert refusal(request_text) == NOT_KNOWN


@pytest.mark.parametrize(
    "request_text",
    [
        "Send an email to Anna that I'm late",
        "Please save this to a file called notes.txt",
        "Could you book me a table for two?",
        "Turn the heating off",
        "Remind me to call mum at five",
        "Buy ten of those",
    ],
)
def test_nothing_is_done_in_the_world_without_a_tool(request_text: str) -> None:
    assert refusal(request_text) == NOT_DONE


@pytest.mark.parametrize(
    "request_text",
    [
        "What is the capital of Portugal?",
        "Write a poem about today's weather",
        "Translate 'send me an email' into German",
        "How do I delete a file in Linux?",
        "Create a table of the planets",
        "Order these numbers: 3 1 2",
        "How are you today?",
        "What is weather?",
        "What is the probability of rolling two sixes?",
        "What are the odds of drawing an ace?",
        "How likely are two heads with a fair coin?",
        "Was ist die Hauptstadt von Australien?",
        "¿Qué es el tiempo?",
        "Remove the duplicates from a, b, a",
        "Sort my shopping list: milk, eggs",
        "Tell me a joke about the news",
    ],
)
def test_words_and_knowledge_need_no_tool(request_text: str) -> None:
    assert refusal(request_text) is None


def test_what_the_user_has_said_is_no_live_fact() -> None:
    assert refusal("What's the price now?", said_before="The price went up to 5 euros.") is None
    assert refusal("What's the price now?") == NOT_KNOWN


def test_a_long_request_brings_along_what_it_asks_about() -> None:
    assert refusal("What is the latest price? " + "The report says that it rose. " * 10) is None


def shown(answer: str, request_text: str = "Please do it") -> list[str]:
    claims = ClaimFilter(request_text)
    pieces = [claims.feed(answer[place : place + 3]) for place in range(0, len(answer), 3)]
    return [piece for piece in (*pieces, claims.finish()) if piece]


@pytest.mark.parametrize(
    "claim",
    [
        "The weather in Oslo is currently sunny.",
        "I have sent the email to Anna.",
        "Your table has been booked.",
        "File saved.",
        "The price of bitcoin is $50,000 right now.",
        "I've just turned off the lights.",
    ],
)
def test_a_claim_is_never_shown(claim: str) -> None:
    assert shown(claim) == [NOT_DONE]


def test_what_came_before_a_claim_stays() -> None:
    assert "".join(shown("Of course. I have deleted the file.")) == f"Of course. \n\n{NOT_DONE}"


@pytest.mark.parametrize(
    "answer",
    [
        "Lisbon is the capital of Portugal.",
        "The treaty was signed in 1648. It has been called a turning point.",
        "I cannot send e-mails.",
        "The file system is a tree.",
    ],
)
def test_other_answers_are_shown_whole(answer: str) -> None:
    assert "".join(shown(answer)) == answer


def test_an_answer_that_can_be_no_claim_is_shown_as_it_comes() -> None:
    assert len(shown("Rain taps softly on roofs and windows.")) > 3


def test_a_text_that_was_asked_for_may_say_anything() -> None:
    letter = "Dear Anna, I have sent the file."
    assert "".join(shown(letter, "Write a letter to Anna")) == letter
